// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/norm_variants.hpp"

#include <iterator>

#include "runners/cuda/dnn/norm_graph.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

std::vector<VariantBuilder> norm_variants(const model::LayerSpec& spec,
                                          CudnnHandle& handle,
                                          const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  try {
    for (GraphForm& form : norm_forms(spec)) {
      try {
        std::vector<VariantBuilder> more = graph_variants(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(builders));
      } catch (const CudnnRefusal&) {
        continue;  // the other layout may do
      }
    }
  } catch (const Unsupported&) {
    return {};
  }
  return builders;
}

}  // namespace plumb::cuda
