// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/escape_xml.hpp"

#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

std::string escape_xml(const std::string& text) {
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
  return sanitize_utf8(safe);
}

}  // namespace plumb::reporting
