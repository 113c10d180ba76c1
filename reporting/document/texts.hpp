// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::reporting {

/// Replaces characters of a text that could harm a terminal or a document. Control characters, line
/// separators and direction overrides become '?'. What is not UTF-8, or no character, becomes
/// U+FFFD. The result is valid UTF-8 on one line, fit for XML 1.0.
[[nodiscard]] std::string sanitize_utf8(const std::string& text);

/// Writes one row of a CSV table (as RFC 4180), with a line feed. Cells with commas, quotes or line
/// breaks are quoted, and what is no UTF-8 is replaced.
[[nodiscard]] std::string csv_row(const std::vector<std::string>& cells);

/// Writes a number so that it is read back as it was. Absent or not finite: empty.
[[nodiscard]] std::string csv_number(const std::optional<double>& value);

/// Escapes text for XML 1.0 and HTML, between elements or in a quoted attribute. The result is one
/// line.
[[nodiscard]] std::string escape_xml(const std::string& text);

/// Longest text of GitHub-flavoured Markdown, in bytes. GitHub allows 65,536 characters.
inline constexpr std::size_t kMarkdownLimit = 60'000;

/// Makes text safe in a table cell: on one line, without markup, bars or mentions of users.
[[nodiscard]] std::string markdown_cell(const std::string& text);

/// Returns a link with a text of any origin. Without an address it is the text alone. The address
/// must have no brackets or spaces, as those of CommitLink.
[[nodiscard]] std::string markdown_link(const std::string& text, const std::string& address);

/// Returns a key as code, between pairs of backticks. Backticks, bars and new lines in it become
/// spaces.
[[nodiscard]] std::string markdown_code(const std::string& text);

/// Returns lines as a block of code. Their characters are those of sanitize_utf8(). Backticks
/// become apostrophes.
[[nodiscard]] std::string markdown_block(std::string lines);

/// Returns a quantity for people, with a fitting unit and three or four significant digits.
/// Independent of the locale.
[[nodiscard]] std::string time_text(Seconds time);      ///< "1.234 ms"
[[nodiscard]] std::string bytes_text(Bytes amount);     ///< "97.5 MiB"
[[nodiscard]] std::string count_text(double count);     ///< "3.858 G"
[[nodiscard]] std::string duration_text(Seconds time);  ///< "3 d", "2 h", "45 s": ages
/// Returns the time between two moments: "2 h", or "? (clock set back)".
[[nodiscard]] std::string age_text(Timestamp begin, Timestamp end);
/// Returns a time with its relative half-width: "1.234 ms ± 0.4 %".
[[nodiscard]] std::string with_interval(Seconds time, const measure::Interval& interval);
/// Returns the median, with its relative half-width if it has an interval. "–": no samples.
[[nodiscard]] std::string with_interval(const measure::SampleSummary& time);
[[nodiscard]] std::string share_text(double share, int decimals = 1);  ///< "12.3 %"
[[nodiscard]] std::string signed_share_text(double share);             ///< "+12.3 %", "−0.4 %"
[[nodiscard]] std::string ratio_text(double ratio);                    ///< "1.27×"
[[nodiscard]] std::string change_text(Seconds change);  ///< "+1.234 ms", "−5.000 µs"
/// Returns how many there are of what a word names: "1 layer", "2 layers".
[[nodiscard]] std::string counted(std::size_t count, const char* noun);

/// Returns what a backend says of a row on one line: "engine 62 · tensor_cores yes · power_watts
/// 310 (309 to 312)". Of long texts it has only the length. Empty: the backend says nothing.
[[nodiscard]] std::string attribute_text(const results::Attributes& attributes,
                                         const results::Readings& readings);

}  // namespace plumb::reporting
