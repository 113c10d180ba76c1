// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/constant_folding.hpp"

#include <utility>
#include <vector>

#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

/// Collects a layer's operands. Returns false if one has no elements.
bool collect(const model::Layer& layer,
             const std::map<model::ValueId, model::Tensor>& constants,
             std::vector<model::Tensor>& operands) {
  for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
    model::Tensor& operand = operands.emplace_back();
    if (!layer.spec.has_input(i)) {
      continue;
    }
    const auto found = constants.find(layer.inputs.at(i).value());
    if (found == constants.end()) {
      return false;
    }
    operand = found->second;
  }
  return true;
}

}  // namespace

void fold_constants(const model::Graph& graph, std::map<model::ValueId, model::Tensor>& constants) {
  for (const model::Layer& layer : graph.layers) {
    std::vector<model::Tensor> operands;
    if (layer.role != model::Layer::Role::kFolded || layer.spec.op.empty() ||
        layer.outputs.size() != layer.spec.outputs.size() || !collect(layer, constants, operands) ||
        !reference_support(layer.spec).ok()) {
      continue;
    }
    std::vector<model::Tensor> results = reference_outputs(layer.spec, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      constants.insert_or_assign(layer.outputs[i], std::move(results[i]));
    }
  }
}

}  // namespace plumb::engine
