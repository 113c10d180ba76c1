// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"

#include <fmt/core.h>

#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {

void fail_field(const char* field, const std::string& what) {
  throw ProtocolError(ProtocolError::Kind::kBroken,
                      fmt::format("field '{}' of a message is {}", field, what));
}

void require_field(const char* field, bool present) {
  if (!present) {
    fail_field(field, "missing or unknown");
  }
}

double bounded(const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail_field(field, fmt::format("{}, not between {} and {}", value, low, high));
  }
  return value;
}

std::int64_t not_negative(const char* field, std::int64_t value) {
  if (value < 0) {
    fail_field(field, fmt::format("{}, below 0", value));
  }
  return value;
}

Seconds read_time(const char* field, double seconds) {
  constexpr double kLongest = 1e8;  // three years
  return Seconds(bounded(field, seconds, 0.0, kLongest));
}

void check_size(const char* field, std::size_t size, std::size_t most) {
  if (size > most) {
    fail_field(field, fmt::format("a list of {}, above the limit of {}", size, most));
  }
}

}  // namespace plumb::worker
