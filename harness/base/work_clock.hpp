// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "harness/base/timestamp.hpp"

namespace plumb {

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
