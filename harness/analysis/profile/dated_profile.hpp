// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/stored_profile.hpp"

namespace plumb::analysis {

/// Profile with what is known of its run.
struct DatedProfile {
  Timestamp started{};      ///< of the run
  std::string system;       ///< see system_id()
  std::string environment;  ///< its identity: system, stack, threads and method
  results::StoredProfile stored;
};

}  // namespace plumb::analysis
