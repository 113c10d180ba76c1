// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
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

/// Clock of a piece of work. It reads the time of day at the beginning only, and the steady clock
/// from there on, so that setting the time of day changes no duration.
class WorkClock {
 public:
  [[nodiscard]] Timestamp begin() const { return begin_; }
  [[nodiscard]] Timestamp now() const;
  /// Returns by how much `time_of_day` is ahead of this clock: the time of day was set meanwhile.
  [[nodiscard]] std::chrono::duration<double> set_by(Timestamp time_of_day = current_time()) const {
    return time_of_day - now();
  }

 private:
  Timestamp begin_ = current_time();
  std::chrono::steady_clock::time_point steady_begin_ = std::chrono::steady_clock::now();
};

/// Returns the time between two moments that were noted apart. Absent: the end lies before the
/// begin, since the time of day was set back.
[[nodiscard]] std::optional<std::chrono::duration<double>> elapsed(Timestamp begin, Timestamp end);

}  // namespace plumb
