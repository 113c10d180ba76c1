// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/results/profile/stored_profile.hpp"

namespace plumb::analysis {

/// Profile with what is known of its run.
struct DatedProfile {
  Timestamp started{};  ///< of the run
  std::string system;   ///< see system_id()
  results::StoredProfile stored;
};

/// Change of one model's functions between two runs of a system.
struct FunctionGrowth {
  std::string subject;
  std::string mode;
  std::string system;
  std::size_t profiles = 0;  ///< of the model in this time, both ends included
  results::RunId first;
  results::RunId last;
  Timestamp first_started{};
  Timestamp last_started{};
  std::string first_stack;
  std::string last_stack;
  std::string problem;                         ///< why no functions are named; empty: they are
  ProfileDifference difference;                ///< from the first to the last
  std::vector<results::CodeListing> listings;  ///< that the last keeps of functions that grew
};

/// Compares the first and the last profile of each model in each mode, by clock and by system.
/// Those with one profile alone are left out. The largest relative growth comes first, and what has
/// too few samples last. Pure.
[[nodiscard]] std::vector<FunctionGrowth> find_function_growth(
    std::span<const DatedProfile> profiles);

}  // namespace plumb::analysis
