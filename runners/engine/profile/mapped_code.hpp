// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/results/profile/sampled_profile.hpp"

namespace plumb::engine {

/// Lists the parts of this process's memory that hold code, by address, with the build-ids of the
/// libraries that are loaded.
[[nodiscard]] std::vector<results::CodeMapping> read_mapped_code();

}  // namespace plumb::engine
