// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/patterns.hpp"

#include <algorithm>

#include "harness/rewrite/activation_pattern.hpp"
#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {
namespace {

/// Anchor layer with all that has been added to it.
struct Chain : Replacement {
  std::vector<model::LayerId> layers;
};

/// Returns the number of operands that are the operator's own. Those that an epilogue reads follow
/// them.
std::size_t own_operands(std::string_view op) {
  if (op == "batch_norm") {
    return 5;
  }
  return op == "matmul" ? 2 : 3;
}

class ChainFinder {
 public:
  explicit ChainFinder(const model::Graph& graph) : graph_(graph), uses_(graph) {}

  [[nodiscard]] const ValueUses& uses() const { return uses_; }

  [[nodiscard]] std::vector<Chain> extend(const Chain& chain, Stage stage) const {
    switch (stage) {
      case Stage::kBatchNorm:
        return folded(chain, false);
      case Stage::kScale:
        return folded(chain, true);
      case Stage::kBias:
        return added(chain, true);
      case Stage::kResidual:
        return added(chain, false);
      case Stage::kActivation:
        return activated(chain);
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<Chain> folded(const Chain& chain, bool scale) const {
    if (chain.spec.op == "batch_norm") {
      return scaled_batch_norm(chain);
    }
    const std::optional<model::TensorType>& weights = chain.spec.inputs[1];
    const bool constant_bias = !chain.spec.has_input(2) || chain.spec.inputs[2]->constant;
    if (!weights->constant || !constant_bias || !chain.spec.epilogue.empty()) {
      return {};
    }
    Chain next = chain;
    bool single_batch_norm = false;
    while (const std::optional<model::LayerId> reader = uses_.only_reader(next.result)) {
      const model::Layer& layer = graph_.layers[*reader];
      const bool batch_norm = folds_as_batch_norm(layer, next.result);
      if (!batch_norm && !(scale && folds_as_scale(layer, next.result))) {
        break;
      }
      single_batch_norm = batch_norm && next.layers.size() == chain.layers.size();
      next.layers.push_back(*reader);
      next.folded.push_back(*reader);
      next.result = layer.outputs.front();
      if (!scale) {
        break;
      }
    }
    // A single BatchNorm is kBatchNorm's alone, so that no two rules match the same layers.
    if (next.layers.size() == chain.layers.size() || scale == single_batch_norm) {
      return {};
    }
    const std::int64_t channels = chain.spec.outputs.front().dims.at(1);
    next.spec.inputs.resize(3);
    next.inputs.resize(3);
    next.spec.inputs[2] = model::TensorType{weights->dtype, {channels}, true, {}};
    return {std::move(next)};
  }

  /// Folds layers that scale and shift a BatchNorm's result into its own scale and bias. The key
  /// stays the same.
  [[nodiscard]] std::vector<Chain> scaled_batch_norm(const Chain& chain) const {
    const model::Layer& anchor = graph_.layers[chain.layers.front()];
    if (!anchor.inputs.front() || !folds_as_batch_norm(anchor, *anchor.inputs.front())) {
      return {};
    }
    Chain next = chain;
    while (const std::optional<model::LayerId> reader = uses_.only_reader(next.result)) {
      const model::Layer& layer = graph_.layers[*reader];
      if (!folds_as_scale(layer, next.result)) {
        break;
      }
      next.layers.push_back(*reader);
      next.folded.push_back(*reader);
      next.result = layer.outputs.front();
    }
    if (next.layers.size() == chain.layers.size()) {
      return {};
    }
    return {std::move(next)};
  }

  [[nodiscard]] static bool folds_as_batch_norm(const model::Layer& layer, model::ValueId value) {
    if (!is_op(layer, "batch_norm") || layer.inputs.front() != value ||
        layer.spec.text("mode") != "spatial") {
      return false;
    }
    const auto& inputs = layer.spec.inputs;
    return std::all_of(inputs.begin() + 1, inputs.end(), [](const auto& input) {
      return input && input->constant;
    });
  }

  /// Returns whether a layer combines `value` with a constant per channel (axis 1), or with a
  /// single one. The functions are mul, add, sub, and div by the constant.
  [[nodiscard]] bool folds_as_scale(const model::Layer& layer, model::ValueId value) const {
    for (const std::string_view fn : {"mul", "add", "sub", "div"}) {
      const std::optional<std::size_t> other = other_operand(layer, fn, value);
      if (!other) {
        continue;
      }
      const model::TensorType& constant = *layer.spec.inputs[*other];
      const model::TensorType& result = graph_.values[value].type;
      const std::size_t rank = result.dims.size();
      if (!constant.constant || (fn == "div" && *other == 0) || constant.dims.size() > rank ||
          layer.spec.outputs.front().dims != result.dims) {
        return false;
      }
      const std::size_t offset = rank - constant.dims.size();
      for (std::size_t i = 0; i < constant.dims.size(); ++i) {
        if (constant.dims[i] != 1 && offset + i != 1) {
          return false;
        }
      }
      return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<Chain> added(const Chain& chain, bool bias) const {
    const std::optional<model::LayerId> reader = uses_.only_reader(chain.result);
    if (!reader) {
      return {};
    }
    const model::Layer& layer = graph_.layers[*reader];
    const std::optional<std::size_t> other = other_operand(layer, "add", chain.result);
    if (!other || layer.spec.outputs.front().dims != chain.spec.outputs.front().dims) {
      return {};
    }
    model::TensorType operand = *layer.spec.inputs[*other];
    const std::vector<std::int64_t>& dims = chain.spec.outputs.front().dims;
    if (bias) {
      const bool vector = operand.constant || operand.dims.size() == 1;  // a trained one
      if (!vector || operand.dims.empty() || dims.empty() || operand.dims.back() != dims.back() ||
          element_count(operand) != dims.back()) {
        return {};
      }
      operand.dims = {dims.back()};
    } else if (operand.constant || operand.dims != dims) {
      return {};
    }
    Chain next = chain;
    next.spec.inputs.resize(std::max(next.spec.inputs.size(), own_operands(next.spec.op)));
    next.inputs.resize(next.spec.inputs.size());
    next.spec.epilogue.push_back(model::Epilogue{"add", {}, next.spec.inputs.size()});
    next.spec.inputs.emplace_back(std::move(operand));
    next.inputs.push_back(layer.inputs[*other]);
    next.layers.push_back(*reader);
    next.result = layer.outputs.front();
    return {std::move(next)};
  }

  [[nodiscard]] std::vector<Chain> activated(const Chain& chain) const {
    std::vector<Chain> result;
    for (const Activation& activation : find_activations(graph_, uses_, chain.result)) {
      Chain next = chain;
      next.spec.epilogue.push_back(activation.step);
      next.layers.insert(next.layers.end(), activation.layers.begin(), activation.layers.end());
      next.result = activation.result;
      result.push_back(std::move(next));
    }
    return result;
  }

  const model::Graph& graph_;
  ValueUses uses_;
};

}  // namespace

std::vector<Match> find_chains(const model::Graph& graph,
                               std::string_view rule,
                               std::string_view anchor,
                               std::initializer_list<Stage> stages) {
  const ChainFinder finder(graph);
  std::vector<Match> result;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (!is_op(layer, anchor) || layer.outputs.size() != layer.spec.outputs.size()) {
      continue;
    }
    const std::vector<model::ValueId> further(layer.outputs.begin() + 1, layer.outputs.end());
    Chain anchored{{layer.spec, layer.inputs, layer.outputs.front(), {}, further}, {id}};
    anchored.inputs.resize(layer.spec.inputs.size());
    std::vector<Chain> chains{std::move(anchored)};
    for (const Stage stage : stages) {
      std::vector<Chain> longer;
      for (const Chain& chain : chains) {
        std::vector<Chain> found = finder.extend(chain, stage);
        std::move(found.begin(), found.end(), std::back_inserter(longer));
      }
      chains = std::move(longer);
    }
    for (Chain& chain : chains) {
      std::vector<model::ValueId> results{chain.result};
      results.insert(results.end(), further.begin(), further.end());
      if (finder.uses().closed(chain.layers, results)) {
        result.push_back(make_match(rule, chain.layers, static_cast<Replacement&>(chain)));
      }
    }
  }
  return result;
}

}  // namespace plumb::rewrite
