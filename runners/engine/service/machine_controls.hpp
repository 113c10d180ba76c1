// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "harness/results/measurement.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {

/// Times a control: built-in code that no library under test touches.
///
/// The keys are in harness/results/paired_round.hpp. They name nothing at all, a product of two
/// square f32 matrices that fit into a core's cache, or a copy of 32 MiB. The times are raw: the
/// harness overhead is not subtracted, because a control is compared with itself only. Takes some
/// hundredths of a second. With `await_turn` it takes turns. The outcome is kUnsupported for
/// another key. Throws std::bad_alloc.
[[nodiscard]] results::Measurement measure_control(const model::LayerKey& key,
                                                   LayerTiming& timing,
                                                   const std::function<void()>& await_turn = {});

}  // namespace plumb::engine
