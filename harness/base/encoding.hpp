// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plumb {

/// Writes any text as a C++ string literal, quotes included. Printable ASCII stays as it is. The
/// rest becomes octal escapes of three digits, so that nothing in it ends the literal or the line.
[[nodiscard]] std::string cpp_literal(std::string_view text);

/// Writes a JSON value as text, whatever bytes its strings hold: what is not UTF-8 becomes U+FFFD.
/// An `indent` of -1 writes one line.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);

/// Escapes text for a segment of a URL's path or a value of its query (RFC 3986 §2).
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Decodes percent escapes. Absent: an escape is malformed.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// Quotes text for a POSIX shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

/// Quotes a word for a POSIX shell, where it needs that.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Writes a command for a POSIX shell: each word quoted where it needs that.
[[nodiscard]] std::string shell_command(std::span<const std::string> words);

/// Code point at the beginning of a text.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< of its form in UTF-8
};

/// Decodes the code point that a text begins with, which is not empty. Absent: its bytes are not
/// the shortest form of one (RFC 3629).
[[nodiscard]] std::optional<CodePoint> first_code_point(std::string_view text);
/// Returns the greatest length up to a limit at which no character of UTF-8 is cut.
[[nodiscard]] std::size_t whole_characters(std::string_view text, std::size_t at_most);

/// Returns whether a text is ASCII without zero bytes.
[[nodiscard]] bool is_plain(std::string_view text);
/// Returns a text in UTF-8, without zero bytes, which not every database can hold. Other bytes
/// become U+FFFD, and zeros question marks.
[[nodiscard]] std::string in_utf8(std::string text);

/// Writes a path as UTF-8, which JSON and protobuf need and a file name need not be. A byte that is
/// no part of UTF-8 becomes one character of Unicode's private use area: U+F700 and the byte. So
/// do the bytes of such characters themselves, so that path_from_text() finds every path again.
[[nodiscard]] std::string path_text(const std::filesystem::path& path);

/// Reads what path_text() wrote.
[[nodiscard]] std::filesystem::path path_from_text(std::string_view text);

/// Appends a number as a varint (LEB128).
inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80U) {
    out += static_cast<char>((value & 0x7FU) | 0x80U);
    value >>= 7U;
  }
  out += static_cast<char>(value);
}

/// Takes a varint from the begin of bytes. Absent: there is none of 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    if (shift == 63 && byte > 1) {
      return std::nullopt;
    }
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace plumb
