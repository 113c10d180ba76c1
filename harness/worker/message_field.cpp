// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/message_field.hpp"

#include <fmt/core.h>

#include "harness/worker/protocol_error.hpp"

namespace plumb {

std::int64_t not_negative(const char* field, std::int64_t value) {
  if (value < 0) {
    throw ProtocolError(ProtocolError::Kind::kBroken,
                        fmt::format("field '{}' of a message is {}, below 0", field, value));
  }
  return value;
}

Seconds time_of(const char* field, double seconds) {
  constexpr double kLongest = 1e8;  // three years
  if (!(seconds >= 0.0 && seconds <= kLongest)) {
    throw ProtocolError(
        ProtocolError::Kind::kBroken,
        fmt::format(
            "field '{}' of a message is {} s, not between 0 and {} s", field, seconds, kLongest));
  }
  return Seconds(seconds);
}

void check_size(const char* field, std::size_t size, std::size_t most) {
  if (size > most) {
    throw ProtocolError(
        ProtocolError::Kind::kBroken,
        fmt::format(
            "field '{}' of a message is a list of {}, above the limit of {}", field, size, most));
  }
}

}  // namespace plumb
