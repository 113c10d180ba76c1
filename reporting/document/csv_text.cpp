// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/csv_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
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

}  // namespace plumb::reporting
