// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/results/profile/code_listing.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::results {

/// Writes samples by block as pairs, "[[0, 3], [2, 1]]". For .cpp files only: the header of the
/// JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json counts_json(const BlockCounts& counts);
/// Reads what counts_json() wrote. Throws Error{kUser} for what does not ascend or is empty.
[[nodiscard]] BlockCounts counts_from(const nlohmann::json& pairs);
/// Throws Error{kUser}: samples are not of the blocks of a profile.
[[noreturn]] void refuse_counts();

/// Writes all that a listing holds.
[[nodiscard]] nlohmann::ordered_json to_json(const CodeListing& listing);
/// Writes listings as an array.
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<CodeListing>& listings);
/// Reads an array that to_json() wrote, of a profile with `blocks` blocks. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] std::vector<CodeListing> code_listings_from_json(const nlohmann::json& listings,
                                                               std::size_t blocks);

/// Writes all that a profile holds, and nothing computed from it. For .cpp files only: the header
/// of the JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json to_json(const NamedProfile& profile);
/// Reads what to_json() wrote, and ignores what a document holds besides. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] NamedProfile named_profile_from_json(const nlohmann::json& document);

}  // namespace plumb::results
