// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/attributes.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/descriptor.hpp"

namespace plumb::cuda {

/// Returns the attributes of an engine with its knobs. They are "engine", "knobs",
/// "numerical_notes", "behaviour_notes", "shared_memory_bytes" and whether it uses tensor cores.
[[nodiscard]] results::Attributes engine_attributes(
    const results::EngineConfiguration& configuration);

/// Adds the attributes of an engine's finished plan. "plan" is cuDNN's own JSON of graph, device,
/// engine and knobs. A plan that is longer than kLongestPlan is left out, and "plan_bytes" says how
/// long it was. If cuDNN refuses the plan's JSON, "plan_missing" says why.
void add_plan(results::Attributes& attributes, const Descriptor& plan);
inline constexpr std::size_t kLongestPlan = std::size_t{32} << 10;

/// Returns the SHA-256 of a plan's JSON, without the device that it describes. Devices of one type
/// differ in their memory and in their place on the bus, which makes no other plan.
[[nodiscard]] std::string plan_digest(const std::string& plan);

}  // namespace plumb::cuda
