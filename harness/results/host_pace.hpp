// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/results/measurement.hpp"

namespace plumb {

/// Names the reading of a row that says how fast the processor was beside it: seconds that a fixed
/// piece of work took right before and after the block (`low`, `high`), and their mean.
inline constexpr const char* kHostPace = "host_pace_seconds";

/// Ratio to the fastest pace from which on a host counts as slowed down. On one virtual machine the
/// pace was within 1 % of its fastest where code beside it was quick. A neighbour on the core made
/// it 1.5 to 1.8 times as long.
inline constexpr double kSlowPace = 1.10;

/// The fastest pace of a host that the rows of several processes saw.
class FastestPace {
 public:
  void take_in(const Measurement& row);
  /// Returns what a twentieth of the rows were as fast as, so that one reading alone does not count
  /// among many; absent without a row that was paced.
  [[nodiscard]] std::optional<Seconds> seconds() const;

 private:
  std::vector<double> sorted_;
};

}  // namespace plumb
