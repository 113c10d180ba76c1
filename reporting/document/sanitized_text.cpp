// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/sanitized_text.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb::reporting {
namespace {

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};

/// Decodes the first code point. Absent: the bytes are not the shortest form of one (RFC 3629).
std::optional<CodePoint> decode_first(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80U) {
    return CodePoint{lead, 1};
  }
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < bytes) {
    return std::nullopt;
  }
  constexpr std::array<std::uint32_t, 5> kLeadBits{0, 0, 0x1FU, 0x0FU, 0x07U};
  constexpr std::array<std::uint32_t, 5> kLowest{0, 0, 0x80U, 0x800U, 0x10000U};
  std::uint32_t value = lead & kLeadBits[bytes];
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return std::nullopt;
    }
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800U && value <= 0xDFFFU;
  if (value < kLowest[bytes] || value > 0x10FFFFU || surrogate) {
    return std::nullopt;
  }
  return CodePoint{value, bytes};
}

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
    const std::optional<CodePoint> next = decode_first(rest);
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
