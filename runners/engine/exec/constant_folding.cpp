// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/constant_folding.hpp"

#include <utility>
#include <vector>

#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

using Tensors = std::map<model::ValueId, model::Tensor>;

/// Collects a layer's operands. Returns false if one has no elements.
bool collect(const model::Layer& layer,
             const Tensors& known,
             const Tensors& made,
             std::vector<model::Tensor>& operands) {
  for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
    model::Tensor& operand = operands.emplace_back();
    if (!layer.spec.has_input(i)) {
      continue;
    }
    const model::ValueId id = layer.inputs.at(i).value();
    const auto own = made.find(id);
    const auto found = own == made.end() ? known.find(id) : own;
    if (own == made.end() && found == known.end()) {
      return false;
    }
    operand = found->second;
  }
  return true;
}

/// Computes a folded layer and adds its results, if its operands and its operator are known.
void fold(const model::Layer& layer, const Tensors& known, Tensors& made) {
  std::vector<model::Tensor> operands;
  if (layer.role != model::Layer::Role::kFolded || layer.spec.op.empty() ||
      layer.outputs.size() != layer.spec.outputs.size() || !collect(layer, known, made, operands) ||
      !reference_support(layer.spec).ok()) {
    return;
  }
  std::vector<model::Tensor> results = reference_outputs(layer.spec, operands);
  for (std::size_t i = 0; i < results.size(); ++i) {
    made.insert_or_assign(layer.outputs[i], std::move(results[i]));
  }
}

}  // namespace

void fold_constants(const model::Graph& graph, Tensors& constants) {
  fold_constants(graph, constants, constants);
}

void fold_constants(const model::Graph& graph, const Tensors& known, Tensors& made) {
  for (const model::Layer& layer : graph.layers) {
    if (!layer.outputs.empty() && !known.contains(layer.outputs.front())) {
      fold(layer, known, made);
    }
  }
}

}  // namespace plumb::engine
