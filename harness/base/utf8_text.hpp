// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumb {

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

}  // namespace plumb
