// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/attention_offers.hpp"

#include "runners/cuda/attention_graph.hpp"
#include "runners/cuda/index_space.hpp"

namespace plumb::cuda {

GraphForm attention_form(const LayerSpec& spec) {
  return {"graph=sdpa",
          attention_graph(spec),
          std::vector<TensorLayout>(spec.inputs.size(), TensorLayout::kChannelsFirst),
          TensorLayout::kChannelsFirst,
          {}};
}

std::vector<DeviceOffer> attention_offers(const LayerSpec& spec, CudnnHandle& handle) {
  try {
    return graph_offers(spec, attention_form(spec), handle, {});
  } catch (const Unsupported&) {
    return {};
  } catch (const CudnnRefusal&) {
    return {};
  }
}

}  // namespace plumb::cuda
