// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/measurement.hpp"
#include "runners/engine/layer_timing.hpp"

namespace plumb {

/// Times code of our own that no library under test touches, named by a key of
/// harness/results/paired_round.hpp: nothing at all, a product of two square f32 matrices that fit
/// into a core's cache, or a copy of 32 MiB. Raw times: the floor is not taken off what is compared
/// with itself. Takes some hundredths of a second. kUnsupported for another key. Throws
/// std::bad_alloc.
[[nodiscard]] Measurement measure_control(const LayerKey& key, LayerTiming& timing);

}  // namespace plumb
