// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/units.hpp"

namespace plumb::measure {

/// Returns the speed of `threads` threads at the same arithmetic over `threads` times that of one.
/// It is 1 where every thread has a core of its own, and 0.5 where two share one.
///
/// Each thread works for about `work`. The best of three tries counts, because a disturbance only
/// lowers the result. Below two threads it returns 1 without measuring. The arithmetic touches no
/// memory, so that it shows cores and not bandwidth.
[[nodiscard]] double measure_parallel_efficiency(int threads, Seconds work = Seconds(0.02));

}  // namespace plumb::measure
