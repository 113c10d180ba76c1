// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"

namespace plumb {

/// Throws ProtocolError{kBroken}: the field of a message is `what`.
[[noreturn]] void fail_field(const char* field, const std::string& what);

/// Refuses a message without a field, as fail_field() does.
void require_field(const char* field, bool present);

/// Returns a number of a message between both ends; NaN is not. Throws as fail_field() does.
[[nodiscard]] double bounded(const char* field, double value, double low, double high);

/// The same of integers.
template <std::integral Number>
[[nodiscard]] Number bounded(const char* field,
                             Number value,
                             Number low,
                             Number high = std::numeric_limits<Number>::max()) {
  if (value < low || value > high) {
    fail_field(field, fmt::format("{}, not between {} and {}", value, low, high));
  }
  return value;
}

/// Finds the message's enumerator of a value in a table of pairs. Throws Error{kInternal}.
template <typename Table, typename Value>
[[nodiscard]] auto outward(const Table& table, Value value) {
  for (const auto& [ours, theirs] : table) {
    if (ours == value) {
      return theirs;
    }
  }
  throw Error(
      Error::Kind::kInternal,
      fmt::format("enumerator {} has no form in the worker protocol; please report this bug",
                  static_cast<int>(value)));
}

/// Finds the value of a message's enumerator. Throws as fail_field() does.
template <typename Table>
[[nodiscard]] auto inward(const Table& table, const char* field, int value) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == value) {
      return ours;
    }
  }
  fail_field(field, fmt::format("{}, which is no enumerator", value));
}

/// Returns a number of a message that must not be negative. Throws ProtocolError{kBroken} naming
/// the field.
[[nodiscard]] std::int64_t not_negative(const char* field, std::int64_t value);

/// Returns a duration of a message, up to three years. Throws ProtocolError{kBroken} naming the
/// field for all else.
[[nodiscard]] Seconds time_of(const char* field, double seconds);

/// Checks the length of a list of a message. Throws ProtocolError{kBroken} naming the field.
void check_size(const char* field, std::size_t size, std::size_t most);

}  // namespace plumb
