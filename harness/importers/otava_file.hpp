// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb::importers {

/// Reads a CSV file as Apache Otava analyses it: one line for each moment, with a column for the
/// time, columns of attributes and columns of metrics. Pure.
///
/// - The time is the column `time`, `timestamp` or `date` (parse_imported_date()).
/// - A column is a metric if each of its values is a number, and an attribute otherwise. `commit`,
///   `version`, `branch`, `run` and `build` are always attributes. `metrics` chooses columns by
///   name instead; empty: all.
/// - `commit`, or else `version`, is the version of the results. Other attributes are facts.
/// - A value is one sample, times `unit` seconds. An empty one, or NaN, was not measured.
///
/// Throws Error{kUser} that names line and column, for a text that is no such file, a value that is
/// not a time, and a metric that is not there.
[[nodiscard]] ImportedHistory read_otava(std::string_view text,
                                         double unit,
                                         std::span<const std::string> metrics);

}  // namespace plumb::importers
