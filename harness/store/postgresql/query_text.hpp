// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb::store {

/// Returns SQL with its parameters, which are written as `?`, replaced by `text_of(0)`,
/// `text_of(1)`, …
template <typename TextOf>
[[nodiscard]] std::string with_parameters(std::string_view sql, const TextOf& text_of) {
  std::string result;
  std::size_t parameter = 0;
  bool quoted = false;
  for (const char c : sql) {
    quoted = quoted != (c == '\'');
    if (c == '?' && !quoted) {
      result += text_of(parameter++);
    } else {
      result += c;
    }
  }
  return result;
}

/// Returns SQL with its parameters numbered, as PostgreSQL writes them.
[[nodiscard]] inline std::string numbered(std::string_view sql) {
  return with_parameters(sql, [](std::size_t i) { return '$' + std::to_string(i + 1); });
}

}  // namespace plumb::store
