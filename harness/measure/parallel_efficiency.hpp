// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/units.hpp"

namespace plumb {

/// Runs the same arithmetic in one thread and in `threads` at once, each for about `work`, and
/// returns the speed of all over `threads` times the speed of one: 1 where every thread has a core
/// of its own, 0.5 where two share one. The best of three tries, because a disturbance only lowers
/// it. 1 without measuring for fewer than two threads. Touches no memory, so that it sees cores and
/// not bandwidth.
[[nodiscard]] double measure_parallel_efficiency(int threads, Seconds work = Seconds(0.02));

}  // namespace plumb
