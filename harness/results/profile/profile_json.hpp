// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::results {

/// Writes all that a profile holds, and nothing computed from it. For .cpp files only: the header
/// of the JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json to_json(const NamedProfile& profile);
/// Reads what to_json() wrote, and ignores what a document holds besides. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] NamedProfile named_profile_from_json(const nlohmann::json& document);

}  // namespace plumb::results
