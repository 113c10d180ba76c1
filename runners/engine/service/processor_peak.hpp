// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::engine {

/// Measures what the processor's widest multiply-adds reach in registers, in all threads together:
/// the best of some tries. No library and no setting of a stack has a part in it. Types: f32, bf16,
/// f16, which is widened to f32 where there are no instructions for it, and s8, which multiplies u8
/// by s8 into s32. Absent: the processor has no such instructions that this code knows, or faster
/// ones (matrix tiles) for f16 or s8, or the clock stands.
[[nodiscard]] std::optional<FlopsPerSecond> measure_processor_peak(model::DataType type,
                                                                   int threads,
                                                                   const measure::Clock& clock);

/// Returns whether the processor adds products of u8 and s8 in 32 bits (VNNI, matrix tiles). Others
/// add pairs of them in 16 bits, which saturate.
[[nodiscard]] bool adds_byte_products_exactly();

}  // namespace plumb::engine
