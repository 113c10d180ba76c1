// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/own_step.hpp"
#include "runners/cuda/tensor_graph.hpp"

namespace plumb::cuda {

/// Form in which cuDNN is asked for a layer: its graph, and built-in kernels before and behind it.
struct GraphForm {
  std::string text;  ///< of the variant: "layout=NHWC"
  TensorGraph graph;
  std::vector<TensorLayout> inputs;  ///< how it wants each of the layer's operands
  TensorLayout result = TensorLayout::kChannelsFirst;
  std::vector<OwnStep> behind{};
  std::vector<TensorType> made{};  ///< of buffers of the plan behind the layer's operands and
                                   ///< results, in that order
  std::vector<OwnStep> before{};   ///< that make them
};

/// Lists cuDNN's engines for one form of a layer that keep the layer's promise of precision: what
/// heuristic A ranks first, as the model has it by itself, stands first. Empty: there are none.
/// Throws CudnnRefusal if cuDNN refuses the graph. The handle must outlive the offers.
[[nodiscard]] std::vector<DeviceOffer> graph_offers(const LayerSpec& spec,
                                                    GraphForm form,
                                                    CudnnHandle& handle,
                                                    const KernelStep& kernel);

}  // namespace plumb::cuda
