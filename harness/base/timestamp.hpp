// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "harness/base/units.hpp"

namespace plumb {

/// Moment in UTC, in microseconds.
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// Reads the system's clock. Only outer code calls it: the core is given its time.
[[nodiscard]] Timestamp current_time();

/// Reads the steady clock, which no setting of the system's clock changes. For durations.
[[nodiscard]] Seconds steady_time();

/// Formats a moment by RFC 3339 in UTC: 2026-11-21T01:02:03.000004Z.
[[nodiscard]] std::string to_text(Timestamp time);

/// Parses what to_text wrote; the fraction is optional. Throws Error{kUser}.
[[nodiscard]] Timestamp parse_timestamp(std::string_view text);

}  // namespace plumb
