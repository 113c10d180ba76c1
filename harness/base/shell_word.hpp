// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plumb {

/// Quotes text for a POSIX shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

/// Quotes a word for a POSIX shell, where it needs that.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Writes a command for a POSIX shell: each word quoted where it needs that.
[[nodiscard]] std::string shell_command(std::span<const std::string> words);

}  // namespace plumb
