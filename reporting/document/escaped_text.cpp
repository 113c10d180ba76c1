// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/escaped_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/encoding.hpp"

namespace plumb::reporting {
namespace {

bool drives_the_reader(std::uint32_t value) {
  return value < 0x20U || (value >= 0x7FU && value < 0xA0U) || value == 0x2028U ||
         value == 0x2029U || value == 0x061CU || value == 0x200EU || value == 0x200FU ||
         (value >= 0x202AU && value <= 0x202EU) || (value >= 0x2066U && value <= 0x2069U);
}

}  // namespace

std::string sanitize_utf8(const std::string& text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string result;
  result.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<CodePoint> next = first_code_point(rest);
    const std::size_t bytes = next ? next->bytes : 1;
    if (!next || (next->value & 0xFFFEU) == 0xFFFEU) {
      result += kReplacement;
    } else if (drives_the_reader(next->value)) {
      result += '?';
    } else {
      result += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return result;
}

namespace {

std::string csv_cell(const std::string& text) {
  const std::string clean = sanitize_utf8(text);
  if (clean.find_first_of(",\"\r\n") == std::string::npos) {
    return clean;
  }
  std::string quoted = "\"";
  for (const char c : clean) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    row += (i > 0 ? "," : "") + csv_cell(cells[i]);
  }
  return row + "\n";
}

std::string csv_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

namespace {

/// Adds a character as XML and Markdown both have it: no markup, and no end of the line.
void add_character(char c, std::string& safe) {
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
    case '\t':
    case '\n':
    case '\r':
      safe += ' ';
      break;
    default:
      safe += c;
  }
}

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&apos;";
    } else {
      add_character(c, safe);
    }
  }
  return sanitize_utf8(safe);
}

std::string markdown_cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '`':
        safe += '\'';
        break;
      case '@':
        safe += "&#64;";
        break;
      case '|':
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
        add_character(c, safe);
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
