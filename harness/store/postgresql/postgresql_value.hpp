// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <endian.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "harness/base/error.hpp"

namespace plumb::store {

/// Value of a parameter or column in PostgreSQL's binary form. Numbers are kept inside, texts and
/// bytes outside.
class PostgresqlValue {
 public:
  /// Makes the value of a column whose type has the number `type` (an OID). Throws Error{kInternal}
  /// if the type cannot have it.
  PostgresqlValue(unsigned type, std::int64_t value);
  PostgresqlValue(unsigned type, double value);
  /// Makes a text, or bytes.
  explicit PostgresqlValue(std::string_view bytes)
      : outside_(bytes.data() == nullptr ? std::string_view("") : bytes) {}
  /// Makes a null.
  PostgresqlValue() = default;

  [[nodiscard]] bool is_null() const { return used_ == 0 && outside_.data() == nullptr; }
  [[nodiscard]] bool is_number() const { return used_ != 0; }
  [[nodiscard]] std::string_view bytes() const {
    return used_ == 0 ? outside_ : std::string_view(inside_.data(), used_);
  }

 private:
  template <typename Integer>
  void put(Integer value);
  std::string_view outside_;
  std::array<char, 8> inside_{};
  std::size_t used_ = 0;
};

/// Reads an integer whose bytes begin with the highest.
template <typename Integer>
[[nodiscard]] Integer read_bytes(std::string_view bytes) {
  PLUMB_CHECK(bytes.size() == sizeof(Integer));
  std::make_unsigned_t<Integer> value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  if constexpr (sizeof value == 8) {
    value = be64toh(value);
  } else if constexpr (sizeof value == 4) {
    value = be32toh(value);
  } else {
    static_assert(sizeof value == 2);
    value = be16toh(value);
  }
  return static_cast<Integer>(value);
}
/// Reads a column as an integer; a flag is 0 or 1. Throws Error{kEnvironment} for another type.
[[nodiscard]] std::int64_t read_integer(unsigned type, std::string_view bytes);
/// Reads a column as a number. Throws Error{kEnvironment} for another type.
[[nodiscard]] double read_number(unsigned type, std::string_view bytes);
/// Returns an integer or a number as a text that has all of it.
[[nodiscard]] std::string number_text(unsigned type, std::string_view bytes);

}  // namespace plumb::store
