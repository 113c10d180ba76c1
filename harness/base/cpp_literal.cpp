// SPDX-License-Identifier: Apache-2.0
#include "harness/base/cpp_literal.hpp"

#include <fmt/format.h>

namespace plumb {

std::string cpp_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (code < 0x20 || code > 0x7e || c == '?') {  // "??/" was once a backslash
      literal += fmt::format("\\{:03o}", code);
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

}  // namespace plumb
