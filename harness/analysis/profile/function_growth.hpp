// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Change of one model's functions on a system, from the first runs of a time to the last.
struct FunctionGrowth {
  /// Listing of a function with the share that each instruction has of the function's samples.
  struct Listing {
    results::NamedProfile::Listing listing;
    std::vector<GroupedSamples::Share> shares;  ///< by instruction
    std::optional<GroupedSamples::Unit>
        drawn;  ///< that intervals are by; absent: they are Wilson's
  };

  /// Runs at one end of a time, merged: those of one environment, one after the other.
  struct End {
    std::size_t runs = 0;
    results::RunId run;  ///< the first, or the last of all
    Timestamp started{};
    std::string stack;
  };

  std::string subject;
  std::string mode;
  std::string system;
  std::size_t profiles = 0;  ///< of the model in this time, both ends included
  End first;
  End last;
  std::string problem;            ///< why no functions are named; empty: they are
  ProfileDifference difference;   ///< from the first to the last
  std::vector<Listing> listings;  ///< that the last keeps of functions that grew
};

/// Computes the shares of a listing's instructions, with their intervals by a bootstrap over the
/// profile's blocks, processes or runs (compute_shares()). A listing of an earlier version has no
/// samples by block: its intervals are Wilson's for independent samples. The profile's blocks are
/// those that the listing was made with. Pure.
[[nodiscard]] FunctionGrowth::Listing list_shares(const results::NamedProfile& profile,
                                                  results::NamedProfile::Listing listing);

/// Runs that are merged at each end, at most.
inline constexpr std::size_t kMaxEndRuns = 7;

/// Compares the first and the last profiles of each model in each mode, by clock and by system. At
/// each end up to kMaxEndRuns runs of one environment are merged (RunMerger), at most half of all.
/// Models with one profile alone are left out. The largest relative growth comes first, and what
/// has too few samples last. Pure.
[[nodiscard]] std::vector<FunctionGrowth> find_function_growth(
    std::span<const RunMerger::DatedProfile> profiles);

}  // namespace plumb::analysis
