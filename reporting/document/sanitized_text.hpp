// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb::reporting {

/// Replaces characters of a text that could harm a terminal or a document. Control characters, line
/// separators and direction overrides become '?'. What is not UTF-8, or no character, becomes
/// U+FFFD. The result is valid UTF-8 on one line, fit for XML 1.0.
[[nodiscard]] std::string sanitize_utf8(const std::string& text);

}  // namespace plumb::reporting
