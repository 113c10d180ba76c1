// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace plumb {

/// Most parts of a dotted key in TOML. Each part is a table inside the one before.
inline constexpr std::size_t kMaxTomlKeyParts = 16;

/// Finds a dotted key of more parts, which a parser may not survive: it nests a table for each.
/// Returns its line, counted from 1. Empty: there is none. Reads text that need not be TOML.
[[nodiscard]] std::optional<std::size_t> find_deep_toml_key(std::string_view text);

}  // namespace plumb
