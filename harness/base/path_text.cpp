// SPDX-License-Identifier: Apache-2.0
#include "harness/base/path_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace plumb {
namespace {

constexpr std::uint32_t kEscape = 0xF700U;  // and a byte from 0x80 to 0xFF

/// One character of UTF-8 text.
struct Character {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

/// Decodes the character that text begins with. Empty: it begins with none (Unicode 15, table 3-7).
std::optional<Character> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80U) {
    return Character{lead, 1};
  }
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U) {
    return std::nullopt;
  }
  std::uint32_t value = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return std::nullopt;
    }
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const std::uint32_t least = bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U;
  if (value < least || value > 0x10FFFFU || (value >= 0xD800U && value <= 0xDFFFU)) {
    return std::nullopt;
  }
  return Character{value, bytes};
}

bool is_escape(std::uint32_t value) {
  return value >= kEscape + 0x80U && value <= kEscape + 0xFFU;
}

void append_escaped(std::string& text, std::string_view bytes) {
  for (const char c : bytes) {
    const std::uint32_t value = kEscape + static_cast<unsigned char>(c);
    text.push_back(static_cast<char>(0xE0U | (value >> 12U)));
    text.push_back(static_cast<char>(0x80U | ((value >> 6U) & 0x3FU)));
    text.push_back(static_cast<char>(0x80U | (value & 0x3FU)));
  }
}

}  // namespace

std::string path_text(const std::filesystem::path& path) {
  const std::string& bytes = path.native();
  std::string text;
  text.reserve(bytes.size());
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::optional<Character> next = first_character(rest);
    const std::string_view piece = rest.substr(0, next ? next->bytes : 1);
    if (next && !is_escape(next->value)) {
      text += piece;
    } else {
      append_escaped(text, piece);
    }
    rest.remove_prefix(piece.size());
  }
  return text;
}

std::filesystem::path path_from_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const std::optional<Character> next = first_character(text);
    const std::string_view piece = text.substr(0, next ? next->bytes : 1);
    if (next && is_escape(next->value)) {
      bytes.push_back(static_cast<char>(next->value & 0xFFU));
    } else {
      bytes += piece;
    }
    text.remove_prefix(piece.size());
  }
  return bytes;
}

}  // namespace plumb
