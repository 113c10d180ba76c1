// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "harness/results/attributes.hpp"
#include "runners/cuda/device_plan.hpp"

namespace plumb::cuda {

/// Variant of a layer on the GPU, not built yet.
struct DeviceOffer {
  std::string text;  ///< "impl=cudnn;layout=NHWC;engine=41;TILE_SIZE=5": unique for the layer
  std::vector<TensorLayout> inputs;   ///< how it wants each operand
  std::vector<TensorLayout> outputs;  ///< how it leaves each result
  /// Makes the plan: its buffers are the layer's inputs, then its outputs, then what it needs in
  /// between. Throws Unsupported with the library's words.
  std::function<DevicePlan()> build;
  Attributes attributes{};  ///< that are known before the plan is made
};

/// Begins a plan with the buffers of an offer's operands and results.
[[nodiscard]] DevicePlan begin_plan(const LayerSpec& spec,
                                    const std::vector<TensorLayout>& inputs,
                                    const std::vector<TensorLayout>& outputs);

/// Adds buffers, behind those of an offer, for what steps make for one another.
void add_made_buffers(DevicePlan& plan, const std::vector<TensorType>& types);

}  // namespace plumb::cuda
