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

namespace plumb::worker {

/// Throws ProtocolError{kBroken}: "field '…' of a message is …", with `what` at the end.
[[noreturn]] void fail_field(const char* field, const std::string& what);

/// Throws as fail_field() does if a field is missing or unknown.
void require_field(const char* field, bool present);

/// Returns `value` if it lies between both ends, which NaN does not. Throws as fail_field() does.
[[nodiscard]] double bounded(const char* field, double value, double low, double high);

/// Returns an integer in the same way.
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

/// Returns the message's enumerator for a value, from a table of pairs. Throws Error{kInternal} if
/// there is none.
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

/// Returns the value for a message's enumerator. Throws as fail_field() does if there is none.
template <typename Table>
[[nodiscard]] auto inward(const Table& table, const char* field, int value) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == value) {
      return ours;
    }
  }
  fail_field(field, fmt::format("{}, which is not an enumerator", value));
}

/// Returns `value` unless it is negative. Throws as fail_field() does.
[[nodiscard]] std::int64_t not_negative(const char* field, std::int64_t value);

/// Returns a duration of 0 to 10^8 seconds, about three years. Throws as fail_field() does.
[[nodiscard]] Seconds read_time(const char* field, double seconds);

/// Checks the length of a list. Throws as fail_field() does.
void check_size(const char* field, std::size_t size, std::size_t most);

}  // namespace plumb::worker
