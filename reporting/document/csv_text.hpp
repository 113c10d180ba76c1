// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plumb::reporting {

/// Writes one row of a CSV table (as RFC 4180), with a line feed. Cells with commas, quotes or line
/// breaks are quoted, and what is no UTF-8 is replaced.
[[nodiscard]] std::string csv_row(const std::vector<std::string>& cells);

/// Writes a number so that it is read back as it was. Absent or not finite: empty.
[[nodiscard]] std::string csv_number(const std::optional<double>& value);

}  // namespace plumb::reporting
