// SPDX-License-Identifier: Apache-2.0
#include "harness/base/path_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/base/utf8_text.hpp"

namespace plumb {
namespace {

constexpr std::uint32_t kEscape = 0xF700U;  // and a byte from 0x80 to 0xFF

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
    const std::optional<CodePoint> next = first_code_point(rest);
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
    const std::optional<CodePoint> next = first_code_point(text);
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
