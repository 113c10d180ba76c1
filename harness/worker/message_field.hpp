// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/base/units.hpp"

namespace plumb {

/// Returns a number of a message that must not be negative. Throws ProtocolError{kBroken} naming
/// the field.
[[nodiscard]] std::int64_t not_negative(const char* field, std::int64_t value);

/// Returns a duration of a message, up to three years. Throws ProtocolError{kBroken} naming the
/// field for all else.
[[nodiscard]] Seconds time_of(const char* field, double seconds);

/// Checks the length of a list of a message. Throws ProtocolError{kBroken} naming the field.
void check_size(const char* field, std::size_t size, std::size_t most);

}  // namespace plumb
