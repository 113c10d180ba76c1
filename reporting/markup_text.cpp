// SPDX-License-Identifier: Apache-2.0
#include "reporting/markup_text.hpp"

#include "reporting/printable_text.hpp"

namespace plumb {

std::string markup_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&apos;";
        break;
      case '\t':
      case '\n':
      case '\r':
        safe += ' ';
        break;
      default:
        safe += c;
    }
  }
  return printable(safe);
}

}  // namespace plumb
