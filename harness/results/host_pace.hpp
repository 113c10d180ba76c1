// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/results/measurement.hpp"

namespace plumb::results {

/// Reading of a row that shows how fast the processor was beside it, in seconds. `low` and `high`
/// are the times of a fixed piece of work right before and after the block, and the median is their
/// mean.
inline constexpr const char* kHostPace = "host_pace_seconds";

/// Ratio to the fastest pace from which on a host counts as slow. On one virtual machine the pace
/// was within 1 % of its fastest where code beside it was fast. A neighbour on the core made it 1.5
/// to 1.8 times as long.
inline constexpr double kSlowPace = 1.10;

/// Fastest pace of a host, over the rows of several processes.
class FastestPace {
 public:
  /// Adds the pace of a row, if it has one.
  void take_in(const Measurement& row);
  /// Returns the pace that a twentieth of the rows reached, so that no single reading decides.
  /// Absent if no row has a pace.
  [[nodiscard]] std::optional<Seconds> seconds() const;

 private:
  std::vector<double> sorted_;
};

}  // namespace plumb::results
