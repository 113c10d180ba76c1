// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/results/measurement.hpp"

namespace plumb {

/// Names the reading of a row that says how fast the processor was beside it: seconds that a fixed
/// piece of work took right before and after the block (`low`, `high`), and their mean.
inline constexpr const char* kHostPace = "host_pace_seconds";

/// Work that takes so many times its fastest is done on a host that is slowed down.
///
/// Of 4,355 rows on an idle virtual machine 2 % took 1.1 times their fastest or more where the pace
/// was within 2 % of its fastest, 7 % at 3 %, 29 % at 5 % and half from 6 % on: a neighbour on the
/// core.
inline constexpr double kSlowPace = 1.05;

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
