// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::test_support {

/// Reads a key written without its version, its accumulation type and its math class.
inline model::LayerSpec layer(const std::string& op_in_out, const std::string& attributes = "") {
  return model::parse_key(
      {"v1:" + op_in_out + ";acc=f32;math=strict" + (attributes.empty() ? "" : ";" + attributes)});
}

/// Makes a layer's operands from numbers, one list an operand; an empty list: absent.
inline std::vector<model::Tensor> operands(const model::LayerSpec& spec,
                                           const std::vector<std::vector<double>>& numbers) {
  std::vector<model::Tensor> tensors;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    tensors.push_back(spec.has_input(i) ? engine::tensor_from(*spec.inputs[i], numbers.at(i))
                                        : model::Tensor{});
  }
  return tensors;
}

/// Computes the first output from lists of numbers.
inline std::vector<double> outputs(const model::LayerSpec& spec,
                                   const std::vector<std::vector<double>>& numbers) {
  return engine::read_numbers(engine::reference_outputs(spec, operands(spec, numbers)).at(0));
}

}  // namespace plumb::test_support
