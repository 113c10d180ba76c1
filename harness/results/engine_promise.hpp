// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"

namespace plumb::results {

/// Returns in which way a configuration is known to compute the layer wrongly; empty: in none.
/// cuDNN offers such engines and refuses none of them. Seen with cuDNN 9.19 on an H200
/// (docs/results/2026-11-26-first-gpu.md).
[[nodiscard]] std::string_view known_defect(const model::LayerSpec& spec,
                                            const EngineConfiguration& configuration);

/// Returns whether a configuration computes as exactly as the layer promises. Its numerical notes
/// decide: f32 strict excludes tensor cores and conversion down. So do known defects.
[[nodiscard]] bool keeps_promise(const model::LayerSpec& spec,
                                 const EngineConfiguration& configuration);

/// Returns the plan of a program that requests only the layer's promise of precision. It is the
/// first plan of heuristic A, then of FALLBACK, whose numerical notes keep the promise. Null if
/// there is none.
[[nodiscard]] const EngineConfiguration* chosen_engine(const model::LayerSpec& spec,
                                                       const EngineOffer& offer);

}  // namespace plumb::results
