// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/builtin/builtin_step.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Form in which cuDNN executes a layer: its graph, and built-in kernels before and after it.
struct GraphForm {
  std::string text;  ///< of the variant: "layout=NHWC"
  TensorGraph graph;
  std::vector<TensorLayout> inputs;  ///< layout of each of the layer's operands
  TensorLayout result = TensorLayout::kChannelsFirst;
  std::vector<BuiltinStep> behind{};
  std::vector<model::TensorType> made{};  ///< of the plan's buffers after the layer's, in order
  std::vector<BuiltinStep> before{};      ///< steps that make them
};

/// Lists cuDNN's engines for one form of a layer. All keep the layer's promise of precision. First
/// stands what heuristic A ranks first, which is what a model gets by default. Empty: there are
/// none. Throws CudnnRefusal if cuDNN refuses the graph. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> graph_variants(const model::LayerSpec& spec,
                                                         GraphForm form,
                                                         CudnnHandle& handle,
                                                         const KernelStep& kernel);

}  // namespace plumb::cuda
