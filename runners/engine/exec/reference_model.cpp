// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_model.hpp"

#include <utility>

#include "runners/engine/exec/quantized_constants.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {

results::Outcome reference_model_outputs(const model::Graph& graph,
                                         std::map<model::ValueId, model::Tensor>& values,
                                         std::vector<model::Tensor>& outputs,
                                         const std::function<void()>& after_layer) {
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kFolded) {
      continue;
    }
    if (results::Outcome support = reference_support(layer.spec); !support.ok()) {
      return support;
    }
    std::vector<model::Tensor> operands;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.spec.has_input(i) && !values.contains(*layer.inputs[i])) {
        return unknown_value(graph, *layer.inputs[i]);
      }
      operands.push_back(layer.spec.has_input(i) ? values.at(*layer.inputs[i]) : model::Tensor{});
      const model::TensorType type = layer.spec.inputs[i].value_or(model::TensorType{});
      if (layer.spec.has_input(i) && element_count(type) == element_count(operands[i].type)) {
        operands[i].type.dims = type.dims;  // a fused bias may lack extents of 1 that its value has
      }
    }
    std::vector<model::Tensor> results = reference_outputs(layer.spec, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values[layer.outputs[i]] = std::move(results[i]);
    }
    if (after_layer) {
      after_layer();
    }
  }
  for (const model::ValueId output : graph.outputs) {
    if (!values.contains(output)) {
      return unknown_value(graph, output);
    }
    outputs.push_back(values.at(output));
  }
  return {};
}

}  // namespace plumb::engine
