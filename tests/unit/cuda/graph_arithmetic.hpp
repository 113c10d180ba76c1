// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "harness/model/onnx/values/constant_value.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Computes what cuDNN's documentation says that a form's graph computes, in float64, on operands
/// laid out as the form wants them. `buffers` are the plan's, dense: the layer's operands, its
/// results (not read), and what was made before. Returns those of the results that the graph makes,
/// dense, by their index; steps before and behind the graph are left out.
[[nodiscard]] std::map<std::size_t, model::Tensor> computed(
    const GraphForm& form,
    const std::vector<model::TensorType>& results,
    const std::vector<model::Tensor>& buffers);

}  // namespace plumb::cuda
