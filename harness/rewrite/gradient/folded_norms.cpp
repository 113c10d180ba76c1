// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/folded_norms.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

using model::Layer;
using model::LayerId;
using model::ValueId;

/// Constants of a batch normalisation with frozen statistics.
struct FrozenNorm {
  ValueId scale = 0;
  ValueId shift = 0;
  ValueId mean = 0;
  ValueId variance = 0;
  double epsilon = 0.0;

  bool operator==(const FrozenNorm&) const = default;
};

/// Convolutions with the same weights, the batch normalisation behind them, and what replaces both.
struct Folding {
  FrozenNorm norm;
  std::optional<ValueId> own_bias;  ///< of the convolutions before
  std::vector<LayerId> convolutions;
  std::set<ValueId> images;  ///< that they read
  ValueId factors = 0;       ///< of the output channels; 0: not made yet
  ValueId of_rows = 0;       ///< the same as a column
  ValueId weights = 0;       ///< multiplied by it
  ValueId bias = 0;
};

/// Returns the constants of a batch normalisation, if all of its parameters are constants.
std::optional<FrozenNorm> frozen_norm(const Layer& layer) {
  constexpr std::size_t kOperands = 5;
  if (layer.role != Layer::Role::kCompute || layer.spec.op != "batch_norm" ||
      layer.spec.text("mode") != "spatial" || !layer.spec.epilogue.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < kOperands; ++i) {
    if (!layer.spec.has_input(i) || !layer.spec.inputs[i]->constant) {
      return std::nullopt;
    }
  }
  return FrozenNorm{*layer.inputs[1],
                    *layer.inputs[2],
                    *layer.inputs[3],
                    *layer.inputs[4],
                    layer.spec.real("epsilon")};
}

/// Writer of a step with folded batch normalisations.
class NormFolding {
 public:
  explicit NormFolding(const model::Graph& step)
      : step_(step), readers_(step.values.size()), writer_(result_.graph) {
    result_.graph = step;
    result_.graph.layers.clear();
    for (model::Value& value : result_.graph.values) {
      value.producer.reset();
    }
    for (LayerId id = 0; id < step.layers.size(); ++id) {
      for (const std::optional<ValueId>& input : step.layers[id].inputs) {
        if (input) {
          readers_[*input].push_back(id);
        }
      }
    }
  }

  std::optional<TrainingStep::Rewritten> run() {
    find_foldings();
    if (foldings_.empty()) {
      return std::nullopt;
    }
    for (LayerId id = 0; id < step_.layers.size(); ++id) {
      add(id);
    }
    for (ValueId& output : result_.graph.outputs) {
      output = now(output);
    }
    return std::move(result_);
  }

 private:
  /// Returns the batch normalisation that alone reads a convolution's result.
  [[nodiscard]] std::optional<LayerId> norm_behind(const Layer& layer) const {
    if (layer.role != Layer::Role::kCompute || layer.spec.op != "conv" ||
        !layer.spec.epilogue.empty()) {
      return std::nullopt;
    }
    const ValueId result = layer.outputs.front();
    const bool is_output =
        std::find(step_.outputs.begin(), step_.outputs.end(), result) != step_.outputs.end();
    if (is_output || readers_[result].size() != 1 ||
        !frozen_norm(step_.layers[readers_[result].front()])) {
      return std::nullopt;
    }
    return readers_[result].front();
  }

  /// Returns the bias of a convolution.
  static std::optional<ValueId> bias_of(const Layer& layer) {
    return layer.spec.has_input(2) ? layer.inputs[2] : std::nullopt;
  }

  /// Returns whether a convolution's weights and its bias, if there is one, are trained.
  [[nodiscard]] bool is_trained(const Layer& layer) const {
    const std::optional<ValueId> bias = bias_of(layer);
    return !step_.values[layer.inputs[1].value()].type.constant &&
           (!bias || !step_.values[*bias].type.constant);
  }

  /// Returns whether a value is a constant of zeros, as batch_norm_gradient() makes it.
  [[nodiscard]] bool is_zero(ValueId value) const {
    const std::optional<LayerId> producer = step_.values[value].producer;
    const Layer* const layer = producer ? &step_.layers[*producer] : nullptr;
    return layer != nullptr && layer->role == Layer::Role::kFolded && layer->spec.op == "eltwise" &&
           layer->spec.text("fn") == "linear" &&
           layer->spec.reals("parameters") == std::vector<double>{0.0, 0.0};
  }

  /// Returns whether a layer is the gradient of such a batch normalisation: the same without shift
  /// and mean.
  [[nodiscard]] bool is_gradient_of(const Layer& layer, const FrozenNorm& norm) const {
    const std::optional<FrozenNorm> own = frozen_norm(layer);
    return own && own->scale == norm.scale && own->variance == norm.variance &&
           own->epsilon == norm.epsilon && own->shift == own->mean && is_zero(own->shift);
  }

  [[nodiscard]] bool is_gradient_of(std::optional<ValueId> value, const FrozenNorm& norm) const {
    const std::optional<LayerId> producer = value ? step_.values[*value].producer : std::nullopt;
    return producer && is_gradient_of(step_.layers[*producer], norm);
  }

  void find_foldings() {
    std::set<ValueId> refused;
    for (LayerId id = 0; id < step_.layers.size(); ++id) {
      const Layer& layer = step_.layers[id];
      const std::optional<LayerId> behind = norm_behind(layer);
      if (!behind || !is_trained(layer)) {
        continue;
      }
      const ValueId weights = layer.inputs[1].value();
      const FrozenNorm norm = frozen_norm(step_.layers[*behind]).value();
      const auto [folding, is_new] = foldings_.try_emplace(weights);
      if (is_new) {
        folding->second.norm = norm;
        folding->second.own_bias = bias_of(layer);
      } else if (folding->second.norm != norm || folding->second.own_bias != bias_of(layer)) {
        refused.insert(weights);
      }
      folding->second.convolutions.push_back(id);
      folding->second.images.insert(layer.inputs[0].value());
    }
    std::erase_if(foldings_, [&](const auto& each) {
      return refused.contains(each.first) || !can_fold(each.first, each.second);
    });
    for (const auto& [weights, folding] : foldings_) {
      for (const LayerId id : folding.convolutions) {
        gone_.insert(readers_[step_.layers[id].outputs.front()].front());
      }
      for (LayerId id = 0; id < step_.layers.size(); ++id) {
        if (is_gradient_of(step_.layers[id], folding.norm)) {
          gradients_.emplace(id, weights);
        }
      }
    }
  }

  /// Returns whether nothing but the folded layers, their gradients and the updates reads weights
  /// and bias, and nothing else the gradients of the batch normalisations.
  [[nodiscard]] bool can_fold(ValueId weights, const Folding& folding) const {
    const auto is_known = [&](LayerId id) {
      const Layer& layer = step_.layers[id];
      if (layer.spec.op == "conv_backward_data") {
        return layer.inputs[1] == weights && is_gradient_of(layer.inputs[0], folding.norm);
      }
      return model::is_update(layer.spec) ||
             std::find(folding.convolutions.begin(), folding.convolutions.end(), id) !=
                 folding.convolutions.end();
    };
    const auto is_of_gradient = [&](LayerId id) {
      const Layer& layer = step_.layers[id];
      return layer.spec.op == "conv_backward_weights"
                 ? folding.images.contains(layer.inputs[1].value())
                 : layer.spec.op == "conv_backward_data" && layer.inputs[1] == weights;
    };
    std::vector<LayerId> readers = readers_[weights];
    if (folding.own_bias) {
      const std::vector<LayerId>& of_bias = readers_[*folding.own_bias];
      readers.insert(readers.end(), of_bias.begin(), of_bias.end());
    }
    return std::all_of(readers.begin(), readers.end(), is_known) &&
           std::all_of(step_.layers.begin(), step_.layers.end(), [&](const Layer& layer) {
             if (!is_gradient_of(layer, folding.norm)) {
               return true;
             }
             const std::vector<LayerId>& of = readers_[layer.outputs.front()];
             return std::all_of(of.begin(), of.end(), is_of_gradient);
           });
  }

  /// Returns what takes the place of a value.
  [[nodiscard]] ValueId now(ValueId value) const {
    const auto found = moved_.find(value);
    return found == moved_.end() ? value : found->second;
  }

  void add(LayerId id) {
    Layer layer = step_.layers[id];
    for (std::optional<ValueId>& input : layer.inputs) {
      input = input ? std::optional(now(*input)) : input;
    }
    if (gone_.contains(id)) {
      return;
    }
    if (gradients_.contains(id)) {
      moved_[layer.outputs.front()] = layer.inputs.front().value();
      return;
    }
    if (layer.spec.op == "conv_backward_data") {
      if (const auto found = foldings_.find(layer.inputs[1].value()); found != foldings_.end()) {
        layer.inputs[1] = found->second.weights;
      }
    } else if (layer.spec.op == "conv_backward_weights") {
      append(std::move(layer), id);
      scale_gradient(id);
      return;
    } else if (norm_behind(layer) && foldings_.contains(layer.inputs[1].value())) {
      fold(layer, foldings_.at(layer.inputs[1].value()));
    }
    append(std::move(layer), id);
  }

  void append(Layer layer, LayerId origin) {
    for (const ValueId output : layer.outputs) {
      result_.graph.values[output].producer = result_.graph.layers.size();
    }
    result_.graph.layers.push_back(std::move(layer));
    result_.origins.push_back(origin);
  }

  /// Multiplies the gradients of folded weights and of their bias by the factors.
  void scale_gradient(LayerId id) {
    const Layer& layer = step_.layers[id];
    const auto producer = step_.values[layer.inputs[0].value()].producer;
    const auto found = producer ? gradients_.find(*producer) : gradients_.end();
    if (found == gradients_.end()) {
      return;
    }
    const Folding& folding = foldings_.at(found->second);
    writer_.name(layer.name);
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      const ValueId gradient = layer.outputs[i];
      moved_[gradient] = i == 0 ? scale_filters(gradient, folding)
                                : writer_.binary("mul", gradient, folding.factors);
    }
    result_.origins.resize(result_.graph.layers.size(), id);
  }

  /// Multiplies each filter by its factor, as the rows of a matrix: oneDNN has generated code for
  /// that, and not for factors along the first of four axes.
  ValueId scale_filters(ValueId filters, const Folding& folding) {
    const LayerWriter::Dims dims = writer_.dims(filters);
    const std::int64_t row = model::element_count(result_.graph.values[filters].type) / dims[0];
    const ValueId rows = writer_.view(filters, {dims[0], row});
    return writer_.view(writer_.binary("mul", rows, folding.of_rows), dims);
  }

  /// Lets a convolution compute what the batch normalisation behind it makes.
  void fold(Layer& layer, Folding& folding) {
    const LayerId norm = norm_behind(layer).value();
    if (folding.factors == 0) {
      make_operands(layer.inputs[1].value(), step_.layers[norm].name, folding);
      result_.origins.resize(result_.graph.layers.size(), norm);
    }
    constexpr std::size_t kOperands = 3;
    layer.inputs.resize(kOperands);
    layer.spec.inputs.resize(kOperands);
    layer.inputs[1] = folding.weights;
    layer.inputs[2] = folding.bias;
    layer.spec.inputs[1] = result_.graph.values[folding.weights].type;
    layer.spec.inputs[2] = result_.graph.values[folding.bias].type;
    layer.outputs = step_.layers[norm].outputs;
    layer.key = model::to_key(layer.spec);
    layer.cost = model::compute_cost(layer.spec);
    ++result_.changes;
  }

  /// Adds the layers that make the factors once, and weights and bias in each step.
  void make_operands(ValueId weights, const std::string& name, Folding& folding) {
    model::Graph& graph = result_.graph;
    const LayerId first = graph.layers.size();
    const FrozenNorm& norm = folding.norm;
    writer_.name(name + " folded");
    const ValueId deviation =
        writer_.eltwise("sqrt", writer_.eltwise("linear", norm.variance, {1.0, norm.epsilon}));
    folding.factors = writer_.binary("div", norm.scale, deviation);
    const ValueId offset =
        writer_.binary("sub", norm.shift, writer_.binary("mul", norm.mean, folding.factors));
    folding.of_rows = writer_.view(folding.factors, {writer_.dims(folding.factors).front(), 1});
    writer_.fold_from(first);
    for (const ValueId value : {folding.factors, folding.of_rows, offset}) {
      graph.values[value].type.dtype = graph.values[weights].type.dtype;
    }
    folding.weights = scale_filters(weights, folding);
    folding.bias =
        folding.own_bias
            ? writer_.binary(
                  "add", writer_.binary("mul", *folding.own_bias, folding.factors), offset)
            : offset;
  }

  const model::Graph& step_;
  std::vector<std::vector<LayerId>> readers_;  ///< by value
  std::map<ValueId, Folding> foldings_;        ///< by weights
  std::set<LayerId> gone_;                     ///< batch normalisations of the forward pass
  std::map<LayerId, ValueId> gradients_;       ///< of batch normalisations: the weights in front
  std::map<ValueId, ValueId> moved_;
  TrainingStep::Rewritten result_;
  LayerWriter writer_;
};

}  // namespace

std::optional<TrainingStep::Rewritten> folded_norms(const model::Graph& step) {
  return NormFolding(step).run();
}

}  // namespace plumb::rewrite
