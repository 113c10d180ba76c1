// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/base/units.hpp"

namespace plumb::measure {

/// Size of the last cache that is assumed where sysfs is absent (containers, other systems). Most
/// desktop caches are smaller.
inline constexpr Bytes kAssumedLastLevelCache{std::int64_t{64} << 20};

/// Reads the size of the highest cache that CPU 0 sees, data or unified, which a cold measurement
/// must exceed: `folder`/index*/{level,type,size}. Absent: the system does not say. Throws nothing.
/// Files with other content and sizes above 16 GiB are ignored.
[[nodiscard]] std::optional<Bytes> read_last_level_cache(
    const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

/// Returns the speed of `threads` threads at the same arithmetic over `threads` times that of one.
/// It is 1 where every thread has a core of its own, and 0.5 where two share one.
///
/// Each thread works for about `work`. The best of three tries counts, because a disturbance only
/// lowers the result. Below two threads it returns 1 without measuring. The arithmetic touches no
/// memory, so that it shows cores and not bandwidth.
[[nodiscard]] double measure_parallel_efficiency(int threads, Seconds work = Seconds(0.02));

}  // namespace plumb::measure
