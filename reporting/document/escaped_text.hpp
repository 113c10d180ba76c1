// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace plumb::reporting
