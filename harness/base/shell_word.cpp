// SPDX-License-Identifier: Apache-2.0
#include "harness/base/shell_word.hpp"

namespace plumb {

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos
             ? std::string(text)
             : shell_quoted(text);
}

std::string shell_command(std::span<const std::string> words) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) {
      command += ' ';
    }
    command += shell_word(word);
  }
  return command;
}

}  // namespace plumb
