// SPDX-License-Identifier: Apache-2.0
#include "harness/base/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace plumb {

std::optional<CodePoint> first_code_point(std::string_view text) {
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

std::size_t whole_characters(std::string_view text, std::size_t at_most) {
  std::size_t length = std::min(at_most, text.size());
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;
  }
  return length;
}

bool is_plain(std::string_view text) {
  unsigned bits = 0;
  bool zero = false;
  for (const char c : text) {
    bits |= static_cast<unsigned char>(c);
    zero = zero || c == '\0';
  }
  return bits < 0x80U && !zero;
}

std::string in_utf8(std::string text) {
  using nlohmann::json;
  if (is_plain(text)) {
    return text;
  }
  std::replace(text.begin(), text.end(), '\0', '?');
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace plumb
