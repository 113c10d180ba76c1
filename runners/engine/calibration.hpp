// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/tensor.hpp"
#include "harness/worker/backend.hpp"

namespace plumb {

/// Returns the fastest square matrix product (1,024³ by every variant, 2,048³ by the best) that the
/// backend manages in this type, accumulating in f32: its ceiling. Zero if it has none. About half
/// a second. Reference implementations are left out, and so are variants that throw.
[[nodiscard]] FlopsPerSecond measure_peak(Backend& backend, DataType type, const Clock& clock);

/// Returns the best rate, read and written, of copying, adding scaled (triad) and reading arrays of
/// once the cache each with `threads` threads. Throws std::bad_alloc.
[[nodiscard]] BytesPerSecond measure_bandwidth(int threads, Bytes cache, const Clock& clock);

}  // namespace plumb
