// SPDX-License-Identifier: Apache-2.0
#include "harness/base/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace plumb {

std::string cpp_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (code < 0x20 || code > 0x7e || c == '?') {  // "??/" was once a backslash
      literal += fmt::format("\\{:03o}", code);
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return result;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || parsed.ec != std::errc() ||
        parsed.ptr != digits.data() + digits.size()) {
      return std::nullopt;
    }
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

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
