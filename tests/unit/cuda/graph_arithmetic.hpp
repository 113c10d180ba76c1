// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/tensor_data.hpp"
#include "runners/cuda/graph_offers.hpp"

namespace plumb::cuda {

/// Computes what cuDNN's documentation says that a form's graph computes, in float64, on operands
/// laid out as the form wants them. Returns the result, dense; steps behind the graph are left out.
[[nodiscard]] Tensor computed(const GraphForm& form,
                              const TensorType& result,
                              const std::vector<Tensor>& operands);

}  // namespace plumb::cuda
