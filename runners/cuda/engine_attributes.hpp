// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/attributes.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/descriptor.hpp"

namespace plumb::cuda {

/// Returns the attributes of an engine with its knobs: "engine", "knobs", "numerical_notes",
/// "behaviour_notes", "shared_memory_bytes" and whether it uses tensor cores.
[[nodiscard]] Attributes engine_attributes(const EngineConfiguration& configuration);

/// Adds to an engine's attributes those of its finished plan: "plan", cuDNN's own JSON of graph,
/// device, engine and knobs. What is longer than kLongestPlan is left out, and "plan_bytes" says
/// how long it was.
void add_plan(Attributes& attributes, const Descriptor& plan);
inline constexpr std::size_t kLongestPlan = std::size_t{32} << 10;

}  // namespace plumb::cuda
