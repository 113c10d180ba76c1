// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace plumb::importers {

/// Reads a log line by line, of which it keeps one. What is behind 64 KiB of a line is left out.
void read_lines(std::istream& in, const std::function<void(std::string_view)>& take);

/// Divides a text at each separator, into at most 64 parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns a text as a number, if all of it is one.
template <typename Number>
[[nodiscard]] std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace plumb::importers
