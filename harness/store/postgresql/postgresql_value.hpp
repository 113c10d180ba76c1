// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

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
  std::make_unsigned_t<Integer> value = 0;
  for (const char byte : bytes) {
    value =
        static_cast<std::make_unsigned_t<Integer>>(value << 8U) | static_cast<unsigned char>(byte);
  }
  return static_cast<Integer>(value);
}
/// Reads a column as an integer; a flag is 0 or 1. Throws Error{kEnvironment} for another type.
[[nodiscard]] std::int64_t read_integer(unsigned type, std::string_view bytes);
/// Reads a column as a number. Throws Error{kEnvironment} for another type.
[[nodiscard]] double read_number(unsigned type, std::string_view bytes);

}  // namespace plumb::store
