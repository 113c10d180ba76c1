// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"
#include "runners/engine/plan/model_plan.hpp"

namespace plumb::cuda {

using ModelPlan = engine::ModelPlan<ExecutionPlan>;

/// Callbacks that turn layers into steps while a model is planned.
struct LayerSource {
  /// Lists the variants of a layer, the library's first choice first. Throws Unsupported.
  std::function<std::vector<VariantBuilder>(const model::LayerSpec&)> builders;
  /// Makes the step of a launch of a built-in kernel on some of the plan's buffers.
  KernelStep step;
};

/// Plans all layers of a model (engine::GraphPlanner).
///
/// A layer without a name in `variants` takes the first choice. If that is a built-in kernel, the
/// one for the layout of its inputs is taken. Results share memory by their lifetimes, unless they
/// are to be `apart`, for steps that run side by side. Throws Unsupported, naming the layer.
[[nodiscard]] ModelPlan plan_model(const model::Graph& graph,
                                   const worker::LayerVariants& variants,
                                   const LayerSource& source,
                                   bool apart);

}  // namespace plumb::cuda
