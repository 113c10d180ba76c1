// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"
#include "runners/cuda/exec/stream_plan.hpp"
#include "runners/cuda/exec/variant_builder.hpp"

namespace plumb::cuda {

/// Execution plan of a whole model.
struct DeviceModelPlan {
  ExecutionPlan plan;                       ///< its buffers' operands are indices into `operands`
  std::vector<worker::StepOrigin> origins;  ///< of plan.steps, one to one
  std::vector<std::string> variants;        ///< of the graph's layers, one to one; empty: no step
  std::vector<model::ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< bytes that these steps read and write
};

/// Callbacks that turn layers into steps while a model is planned.
struct LayerSource {
  /// Lists the variants of a layer, the library's first choice first. Throws Unsupported.
  std::function<std::vector<VariantBuilder>(const model::LayerSpec&)> builders;
  /// Makes the step of a launch of a built-in kernel on some of the plan's buffers.
  KernelStep step;
};

/// Plans all layers of a model, in the graph's order.
///
/// Each layer takes the variant that `variants` names, or the first choice where it names none that
/// is listed. If the first choice is a built-in kernel, the one for the layout of its inputs is
/// taken. Where the library refuses to build a variant, the first of the layer's others that it
/// builds is taken. Where a layer wants another layout than it finds, one step makes it for all
/// layers that want the same. Results share one block of memory by their lifetimes, unless they are
/// to be `apart`, for steps that run side by side. Throws Unsupported, naming the layer.
[[nodiscard]] DeviceModelPlan plan_model(const model::Graph& graph,
                                         const worker::LayerVariants& variants,
                                         const LayerSource& source,
                                         bool apart);

}  // namespace plumb::cuda
