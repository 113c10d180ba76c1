// SPDX-License-Identifier: Apache-2.0
// Private to reporting: text of any origin inside GitHub-flavoured Markdown.
#pragma once

#include <cstddef>
#include <string>

namespace plumb {

inline constexpr std::size_t kMarkdownLimit = 60'000;  ///< bytes; a comment holds 65,536 characters

/// Makes text safe in a table cell: no markup, no new line, no end of cell, nobody notified.
[[nodiscard]] std::string markdown_cell(const std::string& text);

/// Writes a key as code; a fence of two backticks, since a key holds none.
[[nodiscard]] std::string markdown_code(const std::string& text);

}  // namespace plumb
