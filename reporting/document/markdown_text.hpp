// SPDX-License-Identifier: Apache-2.0
// Private to reporting: text of any origin inside GitHub-flavoured Markdown.
#pragma once

#include <cstddef>
#include <string>

namespace plumb::reporting {

inline constexpr std::size_t kMarkdownLimit = 60'000;  ///< bytes; GitHub allows 65,536 characters

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
