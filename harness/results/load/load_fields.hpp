// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::results {

using Nanoseconds = std::chrono::nanoseconds;

/// Writes a time as seconds.
inline nlohmann::json seconds_value(Nanoseconds time) {
  return Seconds(time).count();
}

/// Rounds seconds of a field to nanoseconds. Throws Error{kUser} beyond 10^9 s.
inline Nanoseconds nanoseconds_of(double seconds, const char* name) {
  constexpr double kLongest = 1e9;  // seconds; far below what nanoseconds can count
  if (!(seconds >= -kLongest && seconds <= kLongest)) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is {} s: too long", name, seconds));
  }
  return std::chrono::round<Nanoseconds>(Seconds(seconds));
}

/// Reads a field of seconds as nanoseconds.
inline Nanoseconds nanoseconds(const JsonObject& object, const char* name) {
  return nanoseconds_of(object.number(name), name);
}

/// Reads a field of seconds as nanoseconds. Null gives absent.
inline std::optional<Nanoseconds> optional_nanoseconds(const JsonObject& object, const char* name) {
  const std::optional<double> value = object.optional_number(name);
  return value ? std::optional(nanoseconds_of(*value, name)) : std::nullopt;
}

/// Reads a count, which must not be negative.
inline std::uint64_t count(const JsonObject& object, const char* name) {
  return static_cast<std::uint64_t>(object.integer(name, 0, JsonObject::kHighest));
}

/// Reads a count. Null or a missing field gives absent.
inline std::optional<std::uint64_t> optional_count(const JsonObject& object, const char* name) {
  return object.has(name) ? std::optional(count(object, name)) : std::nullopt;
}

/// Reads one of a few values by its name. Throws Error{kUser} for any other.
template <typename Value, std::size_t kCount>
Value read_one_of(const JsonObject& object,
                  const char* name,
                  const std::array<Value, kCount>& values) {
  const std::string& text = object.text(name);
  for (const Value value : values) {
    if (to_text(value) == text) {
      return value;
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("field '{}' has the unknown value '{}'", name, text.substr(0, 64)));
}

}  // namespace plumb::results
