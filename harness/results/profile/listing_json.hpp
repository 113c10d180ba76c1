// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/results/profile/code_listing.hpp"

namespace plumb::results {

/// Writes all that a listing holds. For .cpp files only: the header of the JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json to_json(const CodeListing& listing);
/// Writes listings as an array.
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<CodeListing>& listings);
/// Reads an array that to_json() wrote, of a profile with `blocks` blocks. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] std::vector<CodeListing> code_listings_from_json(const nlohmann::json& listings,
                                                               std::size_t blocks);

}  // namespace plumb::results
