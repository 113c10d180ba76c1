// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// Returns the rate of the fastest square matrix product in this type, accumulating in f32, that
/// promises this class of math.
///
/// The first extent is tried with every variant, the others with the best of these, or with every
/// one where they have other names. Zero if the backend has no such product. Takes about half a
/// second for 1,024 and 2,048. Reference implementations are left out, and so are variants that
/// throw. Says on stderr where no product of a larger extent was executed.
[[nodiscard]] FlopsPerSecond measure_peak(worker::Backend& backend,
                                          model::DataType type,
                                          model::MathClass math,
                                          std::span<const std::int64_t> extents,
                                          const measure::Clock& clock);

/// Returns the best rate of copy, triad and read with `threads` threads, in bytes read and written.
/// Each array has the size of the cache. Throws std::bad_alloc.
[[nodiscard]] BytesPerSecond measure_bandwidth(int threads,
                                               Bytes cache,
                                               const measure::Clock& clock);

}  // namespace plumb::engine
