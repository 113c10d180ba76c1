// SPDX-License-Identifier: Apache-2.0
// Private to reporting: one function a format, gathered by the table in report.cpp.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "reporting/report.hpp"

namespace plumb {

/// Returns what is known of a bound: the whole, or of an incomplete one the part that is measured;
/// absent if nothing of it is.
[[nodiscard]] std::optional<Seconds> known_time(const Bound& bound);

/// Writes how far a what-if's prediction was off, with its interval, "2.7 % (0.4 to 5.0)"; "–"
/// where nothing was realised.
[[nodiscard]] std::string prediction_error_text(const WhatIfResult& result);

/// Writes one page that opens offline: no reference to anything outside the file, and a content
/// security policy that forbids any. The page draws itself from a JSON document; nothing from
/// outside is ever parsed as markup.
void write_html_report(const RunReport& report, std::ostream& out);

/// Writes GitHub-flavoured Markdown below 60,000 characters, the limit of comments: tables are cut
/// with "and 37 more".
void write_markdown_report(const RunReport& report, std::ostream& out);

/// Writes JUnit XML: a test suite per model, a test case per layer; no time is `skipped`, a wrong
/// result or crash `error`.
void write_junit_report(const RunReport& report, std::ostream& out);

}  // namespace plumb
