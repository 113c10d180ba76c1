// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/tensor.hpp"
#include "harness/worker/backend.hpp"

namespace plumb {

/// Returns the fastest square matrix product (of the first extent by every variant, of the others
/// by the best) that the backend manages in this type, accumulating in f32: its ceiling. Zero if it
/// has none. About half a second for 1,024 and 2,048. Reference implementations are left out, and
/// so are variants that throw.
[[nodiscard]] FlopsPerSecond measure_peak(Backend& backend,
                                          DataType type,
                                          std::span<const std::int64_t> extents,
                                          const Clock& clock);

/// Returns the best rate, read and written, of copying, adding scaled (triad) and reading arrays of
/// once the cache each with `threads` threads. Throws std::bad_alloc.
[[nodiscard]] BytesPerSecond measure_bandwidth(int threads, Bytes cache, const Clock& clock);

}  // namespace plumb
