// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// Formats a ULID: 26 characters of Crockford's base 32 for 48 bits of milliseconds and 80 random
/// bits. Time and randomness are the caller's, so that tests can fix them. Sorting by text sorts by
/// time.
[[nodiscard]] std::string make_ulid(std::chrono::system_clock::time_point time,
                                    const std::array<std::uint8_t, 10>& random);

/// Makes a ULID of the current time, from the system's random source.
[[nodiscard]] std::string new_ulid();

/// Returns whether `text` could be a ULID or a prefix of one (upper case, 1 to 26 characters).
[[nodiscard]] bool is_ulid_prefix(std::string_view text);

}  // namespace plumb
