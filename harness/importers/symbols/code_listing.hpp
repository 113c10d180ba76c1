// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/importers/symbols/code_finder.hpp"
#include "harness/results/profile/code_listing.hpp"
#include "harness/results/profile/sampled_profile.hpp"

namespace plumb::importers {

/// Limit of the code that is listed, in bytes.
inline constexpr std::size_t kMaxListedBytes = 256 << 10U;

/// Lists the instructions of a function of a profile, with the samples of each.
///
/// Its code comes from `dumps` or from its mapping's file, as in read_code_names(). Library code of
/// one name may be made many times: the one with most samples is listed. Empty `function`: that of
/// the whole profile. Throws Error{kUser} if no sampled code has this name, and tells the hottest
/// functions, or if the code cannot be read.
[[nodiscard]] results::CodeListing list_code(const results::SampledProfile& profile,
                                             const std::vector<std::filesystem::path>& dumps,
                                             const std::vector<std::string>& step_names,
                                             const std::string& function);

/// Lists the instructions of as many as kMaxListings functions, by a finder of the profile's
/// process: those whose hottest code has most samples. Where the code has no name or is no longer
/// there, the listing tells why in place of instructions.
[[nodiscard]] std::vector<results::CodeListing> list_hottest_code(
    const results::SampledProfile& profile,
    CodeFinder& finder,
    const std::vector<std::string>& step_names);

}  // namespace plumb::importers
