// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plumb::loadgen {

/// Writer of the lines ":::MLLOG {JSON}" of a detail log.
class MllogLines {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  MllogLines(std::ostream& out, std::int64_t process_id) : out_(out), process_id_(process_id) {}

  /// Stamps the following lines with a time after the log's start.
  void at(Nanoseconds time) { time_ = time; }

  template <typename Value>
  void add(std::string_view key, const Value& value, unsigned line = __builtin_LINE()) {
    write(key, text_of(value), false, line);
  }
  /// Adds keys of LoadGen whose values this load generator does not have, as null.
  void add_unknown(std::initializer_list<std::string_view> keys, unsigned line = __builtin_LINE()) {
    for (const std::string_view key : keys) {
      write(key, "null", false, line);
    }
  }
  void add_error(std::string_view text, unsigned line = __builtin_LINE()) {
    write("error_runtime", json_text(text), true, line);
  }

 private:
  static std::string json_text(std::string_view text);
  void write(std::string_view key, const std::string& value, bool is_error, unsigned line);

  template <typename Value>
  static std::string text_of(const Value& value) {
    if constexpr (std::is_same_v<Value, Nanoseconds>) {
      return fmt::format("{}", value.count());
    } else if constexpr (std::is_floating_point_v<Value>) {
      return fmt::format("{:.6f}", value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return fmt::format("{}", value);
    } else if constexpr (std::is_same_v<Value, std::vector<std::uint64_t>>) {
      return fmt::format("[{}]", fmt::join(value, ","));
    } else {
      return json_text(value);
    }
  }

  std::ostream& out_;
  std::int64_t process_id_;
  Nanoseconds time_{};
};

}  // namespace plumb::loadgen
