// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Profile that a run keeps of one of its models.
struct StoredProfile {
  RunId run;
  std::string subject;  ///< of the model, as the run's executions have it
  Timestamp taken{};    ///< when it was complete
  NamedProfile profile;
};

/// Blocks that a stored profile needs at most: a bootstrap draws no more groups of them.
inline constexpr std::size_t kMaxStoredBlocks = 200;

/// Joins consecutive blocks, so that at most `blocks` are left, each of about as many. Pure.
[[nodiscard]] NamedProfile join_blocks(NamedProfile profile, std::size_t blocks = kMaxStoredBlocks);

}  // namespace plumb::results
