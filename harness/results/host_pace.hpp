// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Names the reading of a row that says how fast the processor was beside it: seconds that a fixed
/// piece of work took right before and after the block (`low`, `high`), and their mean.
inline constexpr const char* kHostPace = "host_pace_seconds";

/// Work that takes so many times its fastest is done on a host that is slowed down. A neighbour on
/// the other hardware thread of a core costs a third; a quiet host stays within 12 %.
inline constexpr double kSlowPace = 1.15;

}  // namespace plumb
