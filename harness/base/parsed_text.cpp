// SPDX-License-Identifier: Apache-2.0
#include "harness/base/parsed_text.hpp"

namespace plumb {
namespace {

/// Returns the position behind the string that begins at `at` with a quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool several_lines = three.size() == 3 && three[1] == quote && three[2] == quote;
  const std::size_t length = several_lines ? 3 : 1;
  for (std::size_t i = at + length; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !several_lines) {
      return i;
    } else if (text[i] == quote && text.substr(i, length) == three.substr(0, length)) {
      return i + length;
    }
  }
  return text.size();
}

bool is_part_of_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == ' ' || c == '\t';
}

}  // namespace

std::optional<std::size_t> find_deep_toml_key(std::string_view text) {
  std::size_t line = 1;
  std::size_t parts = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, i);
      for (; i < end; ++i) {
        line += text[i] == '\n' ? 1U : 0U;
      }
      continue;
    }
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') {
        ++i;
      }
      continue;
    }
    if (c == '.') {
      if (++parts > kMaxTomlKeyParts) {
        return line;
      }
    } else if (!is_part_of_key(c)) {
      parts = 1;
      line += c == '\n' ? 1U : 0U;
    }
    ++i;
  }
  return std::nullopt;
}

}  // namespace plumb
