// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/norm_offers.hpp"

#include <iterator>

#include "runners/cuda/index_space.hpp"
#include "runners/cuda/norm_graph.hpp"

namespace plumb::cuda {

std::vector<DeviceOffer> norm_offers(const LayerSpec& spec,
                                     CudnnHandle& handle,
                                     const KernelStep& kernel) {
  std::vector<DeviceOffer> offers;
  try {
    for (GraphForm& form : norm_forms(spec)) {
      try {
        std::vector<DeviceOffer> more = graph_offers(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(offers));
      } catch (const CudnnRefusal&) {
        continue;  // the other layout may do
      }
    }
  } catch (const Unsupported&) {
    return {};
  }
  return offers;
}

}  // namespace plumb::cuda
