// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/device_plan.hpp"
#include "runners/cuda/own/own_layer.hpp"

namespace plumb::cuda {

/// The work of a built-in kernel before or after a library's part of a layer. It is a layer of its
/// own on buffers of the plan.
struct OwnStep {
  LayerSpec spec;
  std::vector<std::size_t> inputs;  ///< buffers of the plan
  std::size_t output = 0;           ///< likewise; may be an input of functions of each element
};

/// Makes the plan of a layer by kernels of ours alone.
[[nodiscard]] DevicePlan own_plan(const LayerSpec& spec,
                                  const OwnLayer& layer,
                                  const KernelStep& kernel);

/// Appends steps to a plan; their activations lie in `layout`. Throws Unsupported if we have no
/// kernel for one.
void append_own_steps(DevicePlan& plan,
                      const std::vector<OwnStep>& steps,
                      TensorLayout layout,
                      const KernelStep& kernel);

/// Returns how each of a layer's operands has to lie for its steps; of those that no step reads:
/// `layout`.
[[nodiscard]] std::vector<TensorLayout> input_layouts(const LayerSpec& layer,
                                                      const std::vector<OwnStep>& steps,
                                                      TensorLayout layout);

}  // namespace plumb::cuda
