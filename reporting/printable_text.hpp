// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// Replaces what text from a file or a library could harm a terminal or a document with: control
/// characters, line separators and direction overrides by '?', what is not UTF-8 (or no character)
/// by U+FFFD. The result is valid UTF-8 on one line, fit for XML 1.0.
[[nodiscard]] std::string printable(const std::string& text);

}  // namespace plumb
