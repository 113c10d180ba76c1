// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/model/graph.hpp"
#include "harness/worker/backend.hpp"
#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/kernel_launch.hpp"
#include "runners/cuda/stream_plan.hpp"

namespace plumb::cuda {

/// The execution plan of a whole model.
struct DeviceModelPlan {
  DevicePlan plan;                    ///< its buffers' operands are indices into `operands`
  std::vector<StepOrigin> origins;    ///< of plan.steps, one to one
  std::vector<std::string> variants;  ///< of the graph's layers, one to one; empty: no step
  std::vector<ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< that they read and write
};

/// Callbacks that turn layers into steps while a model is planned.
struct LayerSource {
  /// Lists the ways to execute a layer, the library's first choice first. Throws Unsupported.
  std::function<std::vector<DeviceOffer>(const LayerSpec&)> offers;
  /// Makes the step of a launch of a kernel of ours on some of the plan's buffers.
  KernelStep step;
};

/// Makes one plan of all layers in the graph's order.
///
/// Each layer is the variant asked for or, where there is none of that name, the first choice, and
/// where the library refuses to build that the next that it builds; of our own kernels the one for
/// the layout in which its input was left. Where a layer wants another layout than it finds, one
/// step makes it for all that want the same. Results share one block of memory by their lifetimes,
/// unless they are to be `apart`, for steps that run side by side. Throws Unsupported, naming the
/// layer.
[[nodiscard]] DeviceModelPlan plan_model(const Graph& graph,
                                         const LayerVariants& variants,
                                         const LayerSource& source,
                                         bool apart);

}  // namespace plumb::cuda
