// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumb {

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
