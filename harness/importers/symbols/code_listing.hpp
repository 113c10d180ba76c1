// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

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
                                             const std::string& function);

}  // namespace plumb::importers
