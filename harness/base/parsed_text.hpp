// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace plumb {

/// Returns the text of an enumerator, from a list of the texts of all, in their order.
template <typename Enum, std::size_t size>
[[nodiscard]] std::string_view enum_text(const std::array<std::string_view, size>& texts,
                                         Enum value) {
  return texts.at(static_cast<std::size_t>(value));
}

/// Returns the enumerator of a text in such a list. Absent: it is of none.
template <typename Enum, std::size_t size>
[[nodiscard]] std::optional<Enum> parse_enum(const std::array<std::string_view, size>& texts,
                                             std::string_view text) {
  const auto* const found = std::find(texts.begin(), texts.end(), text);
  return found == texts.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - texts.begin()));
}

/// Returns a text as a number, if all of it is one.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

/// Most parts of a dotted key in TOML. Each part is a table inside the one before.
inline constexpr std::size_t kMaxTomlKeyParts = 16;

/// Finds a dotted key of more parts, which a parser may not survive: it nests a table for each.
/// Returns its line, counted from 1. Empty: there is none. Reads text that need not be TOML.
[[nodiscard]] std::optional<std::size_t> find_deep_toml_key(std::string_view text);

}  // namespace plumb
