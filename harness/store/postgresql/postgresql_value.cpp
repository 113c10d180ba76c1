// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/postgresql_value.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/store/damage.hpp"

namespace plumb::store {
namespace {

// The numbers of built-in types never change (catalog/pg_type.dat).
constexpr unsigned kBool = 16;
constexpr unsigned kInt8 = 20;
constexpr unsigned kInt2 = 21;
constexpr unsigned kInt4 = 23;
constexpr unsigned kFloat8 = 701;

template <typename Integer>
Integer narrow(std::int64_t value) {
  if (value < std::numeric_limits<Integer>::min() || value > std::numeric_limits<Integer>::max()) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("{} does not fit its column in the store; please report this bug", value));
  }
  return static_cast<Integer>(value);
}

StoreDamage wrong_type(unsigned type) {
  return damaged_store(fmt::format("a column has the type {}, which it should not have", type));
}

}  // namespace

template <typename Integer>
void PostgresqlValue::put(Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  used_ = sizeof bits;
  for (std::size_t i = 0; i < used_; ++i) {
    inside_.at(i) = static_cast<char>(static_cast<unsigned char>(bits >> (8 * (used_ - 1 - i))));
  }
}

PostgresqlValue::PostgresqlValue(unsigned type, std::int64_t value) {
  switch (type) {
    case kInt8:
      put(value);
      break;
    case kInt4:
      put(narrow<std::int32_t>(value));
      break;
    case kInt2:
      put(narrow<std::int16_t>(value));
      break;
    default:
      throw wrong_type(type);
  }
}

PostgresqlValue::PostgresqlValue(unsigned type, double value) {
  if (type != kFloat8) {
    throw wrong_type(type);
  }
  put(std::bit_cast<std::int64_t>(value));
}

std::int64_t read_integer(unsigned type, std::string_view bytes) {
  switch (type) {
    case kInt8:
      return read_bytes<std::int64_t>(bytes);
    case kInt4:
      return read_bytes<std::int32_t>(bytes);
    case kInt2:
      return read_bytes<std::int16_t>(bytes);
    case kBool:
      return bytes == std::string_view("\1", 1) ? 1 : 0;
    default:
      throw wrong_type(type);
  }
}

double read_number(unsigned type, std::string_view bytes) {
  if (type != kFloat8) {
    throw wrong_type(type);
  }
  return std::bit_cast<double>(read_bytes<std::int64_t>(bytes));
}

std::string number_text(unsigned type, std::string_view bytes) {
  return type == kFloat8 ? fmt::format("{}", read_number(type, bytes))
                         : fmt::format("{}", read_integer(type, bytes));
}

}  // namespace plumb::store
