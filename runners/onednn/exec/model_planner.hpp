// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/plan/execution_plan.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

using ModelPlan = engine::ModelPlan<ExecutionPlan>;

/// Layers' variants and the plans built of them, which serve plan after plan: primitives hold no
/// operands. The content is valid for the number of threads that the library had when it was asked.
using LayerParts = engine::LayerParts<VariantBuilder, ExecutionPlan>;

/// Makes the parts of layers on a device, which must outlive them.
[[nodiscard]] LayerParts make_layer_parts(const Device& device);

/// Plans all layers of a model (engine::GraphPlanner). `parts` may come from another plan.
///
/// A layer without a name in `variants` takes the library's first choice, and reference code only
/// if there is nothing else. Of a primitive that comes in several layouts, the one is taken that
/// its input was left in. Element-wise layers run on the bytes as they lie and leave their results
/// in the same layout.
///
/// With several lanes, the steps of branches are scheduled side by side (ExecutionPlan::schedule).
/// Results then share memory by the schedule's partial order. Throws Unsupported with the layer if
/// one cannot be executed, and the library's exceptions.
[[nodiscard]] ModelPlan plan_model(const model::Graph& graph,
                                   const worker::LayerVariants& variants,
                                   const Device& device,
                                   LayerParts& parts,
                                   std::size_t lanes = 1);

/// Makes the plan in as many lanes as the graph's branches keep busy. The lanes share the calling
/// thread's OpenMP threads. Throws Unsupported also where there are fewer than two threads, no
/// OpenMP, or no branches worth a lane (useful_lanes()).
[[nodiscard]] ModelPlan plan_branches(const model::Graph& graph,
                                      const worker::LayerVariants& variants,
                                      const Device& device);

}  // namespace plumb::onednn
