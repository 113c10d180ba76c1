// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/markdown_text.hpp"

#include <algorithm>

#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

std::string markdown_cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '|':
        safe += "\\|";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '`':
        safe += '\'';
        break;
      case '@':
        safe += "&#64;";
        break;
      case '\t':
      case '\n':
      case '\r':
        safe += ' ';
        break;
      case '$':
      case '~':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\':
        safe += '\\';
        safe += c;
        break;
      default:
        safe += c;
    }
  }
  return sanitize_utf8(safe);
}

std::string markdown_link(const std::string& text, const std::string& address) {
  const std::string shown = markdown_cell(text);
  return address.empty() ? shown : "[" + shown + "](" + address + ")";
}

std::string markdown_code(const std::string& text) {
  std::string safe = text;
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c == '`' || c == '|' || c == '\n'; }, ' ');
  return "``" + sanitize_utf8(safe) + "``";
}

std::string markdown_block(std::string lines) {
  std::replace(lines.begin(), lines.end(), '`', '\'');
  return "```text\n" + lines + "```\n";
}

}  // namespace plumb::reporting
