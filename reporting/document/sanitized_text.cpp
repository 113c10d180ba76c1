// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/sanitized_text.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/utf8_text.hpp"

namespace plumb::reporting {
namespace {

bool drives_the_reader(std::uint32_t value) {
  return value < 0x20U || (value >= 0x7FU && value < 0xA0U) || value == 0x2028U ||
         value == 0x2029U || value == 0x061CU || value == 0x200EU || value == 0x200FU ||
         (value >= 0x202AU && value <= 0x202EU) || (value >= 0x2066U && value <= 0x2069U);
}

}  // namespace

std::string sanitize_utf8(const std::string& text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string result;
  result.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<CodePoint> next = first_code_point(rest);
    const std::size_t bytes = next ? next->bytes : 1;
    if (!next || (next->value & 0xFFFEU) == 0xFFFEU) {
      result += kReplacement;
    } else if (drives_the_reader(next->value)) {
      result += '?';
    } else {
      result += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return result;
}

}  // namespace plumb::reporting
