// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "harness/importers/symbols/code_finder.hpp"
#include "harness/results/profile/code_names.hpp"
#include "harness/results/profile/sampled_profile.hpp"

namespace plumb::importers {

/// Names the function of each sampled address, and of each call (the byte before its return).
///
/// Code that was made at run time is named by `dumps`, as CodeFinder takes them. Other code is
/// named by the symbols of its mapping's file, or of the file with debug information that has its
/// build-id. An address without a symbol gets a function without a name in its mapping's image. A
/// file that cannot be read, or has another build-id now, is a problem of the result.
[[nodiscard]] results::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 const std::vector<std::filesystem::path>& dumps);
/// Names them by a finder of the profile's process.
[[nodiscard]] results::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 CodeFinder& finder);

}  // namespace plumb::importers
