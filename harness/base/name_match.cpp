// SPDX-License-Identifier: Apache-2.0
#include "harness/base/name_match.hpp"

#include <cstddef>

namespace plumb {

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at_pattern = 0;
  std::size_t at_text = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at_text < text.size()) {
    if (at_pattern < pattern.size() && pattern[at_pattern] == '*') {
      star = at_pattern++;
      resume = at_text;
    } else if (at_pattern < pattern.size() && pattern[at_pattern] == text[at_text]) {
      ++at_pattern;
      ++at_text;
    } else if (star != std::string_view::npos) {
      at_pattern = star + 1;
      at_text = ++resume;
    } else {
      return false;
    }
  }
  while (at_pattern < pattern.size() && pattern[at_pattern] == '*') {
    ++at_pattern;
  }
  return at_pattern == pattern.size();
}

}  // namespace plumb
