// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/device_plan.hpp"

namespace plumb::cuda {

/// Is an operation behind a layer's own, which a kernel of ours executes in place on the result.
struct StepBehind {
  LayerSpec spec;                      ///< `eltwise`, or `binary` with the result on the left
  std::optional<std::size_t> operand;  ///< of the layer: the one on the right
};

/// Is a layer whose library does not do all of it at once: what it does, and what is left.
struct SplitLayer {
  LayerSpec alone;  ///< without bias and fused steps
  std::vector<StepBehind> behind;
};

/// Splits a convolution or product with bias or fused steps. Throws Unsupported for a step that is
/// neither a function of each element nor an addition or product with an operand.
[[nodiscard]] SplitLayer split_layer(const LayerSpec& spec);

/// Appends what is left to a plan whose buffers are the layer's inputs, then its result, which lies
/// in `layout`. Throws Unsupported if we have no kernel for it.
void append_behind(DevicePlan& plan,
                   const std::vector<StepBehind>& behind,
                   TensorLayout layout,
                   const KernelStep& kernel);

/// Returns how each operand has to lie for append_behind; of those that no step reads: `layout`.
[[nodiscard]] std::vector<TensorLayout> input_layouts(const LayerSpec& spec,
                                                      const std::vector<StepBehind>& behind,
                                                      TensorLayout layout);

}  // namespace plumb::cuda
