// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"

namespace plumb {

/// Returns whether a configuration computes as exactly as the layer promises. Its numerical notes
/// decide (f32 strict: no tensor cores, no down-conversion).
[[nodiscard]] bool keeps_promise(const LayerSpec& spec, const EngineConfiguration& configuration);

}  // namespace plumb
