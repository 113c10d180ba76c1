// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/activation_pattern.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"
#include "harness/rewrite/gradient/loss.hpp"

namespace plumb::rewrite {
namespace {

using model::Layer;
using Dims = LayerWriter::Dims;

constexpr std::size_t kMean = 3;  // operands of batch_norm
constexpr std::size_t kVariance = 4;

bool computes(const Layer& layer) {
  return layer.role == Layer::Role::kCompute || layer.role == Layer::Role::kView;
}

bool is_statistic(const Layer& layer, std::size_t operand) {
  return layer.spec.op == "batch_norm" && (operand == kMean || operand == kVariance);
}

class Differentiation {
 public:
  Differentiation(const model::Graph& from, const TrainingGraph::Choice& choice)
      : from_(from), choice_(choice), writer_(result_.graph) {
    result_.graph = from;
    result_.graph.layers.clear();
    for (model::Value& value : result_.graph.values) {
      value.producer.reset();
    }
  }

  TrainingGraph run() {
    find_parameters();
    for (const Layer& layer : from_.layers) {
      copy(layer);
    }
    add_loss();
    result_.first_backward_layer = result_.graph.layers.size();
    find_written_out();
    sweep();
    collect();
    return std::move(result_);
  }

 private:
  model::Graph& graph() { return result_.graph; }

  bool depends(std::optional<model::ValueId> value) const {
    return value && *value < depends_.size() && depends_[*value];
  }

  void find_parameters() {
    const std::set<model::ValueId> inputs(from_.inputs.begin(), from_.inputs.end());
    depends_.assign(from_.values.size(), false);
    for (const Layer& layer : from_.layers) {
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const std::optional<model::ValueId> id = layer.inputs[i];
        if (!id || from_.values[*id].producer || inputs.contains(*id) || is_statistic(layer, i)) {
          continue;
        }
        const model::Value& value = from_.values[*id];
        if (value.type_known && value.shape_known && model::is_floating(value.type.dtype) &&
            model::element_count(value.type) > 1 && !choice_.frozen.contains(*id) &&
            !depends_[*id]) {
          depends_[*id] = true;
          graph().values[*id].type.constant = false;
          parameters_.push_back(*id);
        }
      }
    }
  }

  /// Returns where a value of the model is now: a layer that was replaced has another result.
  model::ValueId now(model::ValueId value) const {
    const auto moved = moved_.find(value);
    return moved == moved_.end() ? value : moved->second;
  }

  void copy(Layer layer) {
    bool dependent = false;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      std::optional<model::ValueId>& input = layer.inputs[i];
      if (input) {
        input = now(*input);
        if (depends(input)) {
          dependent = true;
          if (layer.spec.has_input(i)) {
            layer.spec.inputs[i]->constant = false;
          }
        }
      }
    }
    if (dependent && layer.role == Layer::Role::kFolded && !layer.spec.op.empty()) {
      layer.role = layer.spec.op == "view" ? Layer::Role::kView : Layer::Role::kCompute;
    }
    if (computes(layer) && layer.spec.op == "batch_norm") {
      use_batch_statistics(layer);
    } else if (layer.onnx_op == "Dropout" && computes(layer)) {
      add_mask(layer);
      return;
    }
    if (computes(layer)) {
      layer.key = model::to_key(layer.spec);
      layer.cost = model::compute_cost(layer.spec);
    }
    for (const model::ValueId output : layer.outputs) {
      model::Value& value = graph().values[output];
      value.producer = graph().layers.size();
      if (dependent && model::is_floating(value.type.dtype)) {
        mark(output);
        value.type.constant = false;
      }
    }
    graph().layers.push_back(std::move(layer));
  }

  void mark(model::ValueId value) {
    depends_.resize(graph().values.size(), false);
    depends_[value] = true;
  }

  /// Returns whether a batch normalisation keeps the statistics that it has. Throws Error{kUser} if
  /// it is to keep one of the two.
  bool has_frozen_statistics(const Layer& layer) const {
    const bool mean = choice_.frozen.contains(layer.inputs.at(kMean).value());
    const bool variance = choice_.frozen.contains(layer.inputs.at(kVariance).value());
    if (mean != variance) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' has one of mean and variance frozen: freeze both, or none",
                              layer.name));
    }
    return mean;
  }

  /// Lets a batch normalisation compute the statistics, which its gradient reads too.
  void use_batch_statistics(Layer& layer) {
    if (layer.spec.text("mode") != "spatial" || !layer.spec.epilogue.empty() ||
        has_frozen_statistics(layer)) {
      return;
    }
    const model::ValueId mean = layer.inputs.at(kMean).value();
    const model::ValueId variance = layer.inputs.at(kVariance).value();
    layer.spec.op = "batch_norm_training";
    layer.spec.inputs.resize(kMean);
    layer.spec.attributes.erase("mode");
    layer.inputs.resize(kMean);
    model::TensorType channels = layer.spec.inputs.at(1).value();
    channels.constant = false;
    for (const char* const statistic : {" mean", " variance"}) {
      layer.spec.outputs.push_back(channels);
      layer.outputs.push_back(graph().values.size());
      graph().values.push_back({layer.name + statistic, channels, {}, {}});
    }
    if (choice_.running_statistics) {
      const auto elements = static_cast<double>(model::element_count(layer.spec.outputs.front()));
      const double count = elements / static_cast<double>(model::element_count(channels));
      add_statistic({mean, layer.outputs.at(1)});
      add_statistic({variance, layer.outputs.at(2), count > 1.0 ? count / (count - 1.0) : 1.0});
    }
  }

  /// Adds a running statistic, if no batch normalisation before has the same.
  void add_statistic(const TrainingGraph::RunningStatistic& statistic) {
    const bool is_new = std::none_of(result_.statistics.begin(),
                                     result_.statistics.end(),
                                     [&](const TrainingGraph::RunningStatistic& each) {
                                       return each.running == statistic.running;
                                     });
    if (is_new) {
      result_.statistics.push_back(statistic);
    }
  }

  void add_mask(const Layer& layer) {
    const model::ValueId x = layer.inputs.front().value();
    model::TensorType type = graph().values[x].type;
    type.constant = false;
    const model::ValueId mask = graph().values.size();
    graph().values.push_back({layer.name + " mask", type, {}, {}});
    graph().inputs.push_back(mask);
    result_.masks.push_back(mask);
    writer_.name(layer.name);
    const model::ValueId masked = writer_.binary("mul", x, mask);
    moved_[layer.outputs.front()] = masked;
    if (depends(x)) {
      mark(masked);
    }
  }

  void add_loss() {
    if (choice_.output >= from_.outputs.size()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("output {} of '{}' is asked for, and it has {}",
                              choice_.output,
                              from_.name,
                              from_.outputs.size()));
    }
    for (model::ValueId& output : graph().outputs) {
      output = now(output);
    }
    result_.first_loss_layer = graph().layers.size();
    const model::ValueId result = graph().outputs[choice_.output];
    if (choice_.loss_scaling) {
      result_.loss_scale = graph().values.size();
      const model::DataType dtype = graph().values[result].type.dtype;
      if (dtype != model::DataType::kF32 && dtype != model::DataType::kF64) {
        throw Error(Error::Kind::kUser,
                    fmt::format("the loss scale of a model in {} cannot adapt: it takes f32 or f64",
                                to_text(dtype)));
      }
      const model::TensorType type{dtype, {1}};
      graph().values.push_back({"loss scale", type, {}, {}});
    }
    const LossLayers made =
        add_loss_layers(graph(), choice_.loss, result, choice_.share, result_.loss_scale);
    result_.loss_kind = made.kind;
    result_.target = made.target;
    result_.classes = made.classes;
    result_.loss = made.loss;
    add(made.of, made.gradient);
  }

  /// Returns whether all constants of a match are known, so that it is the function for sure.
  bool holds_scalars(const Match& match) const {
    return std::all_of(match.layers.begin(), match.layers.end(), [&](model::LayerId id) {
      const Layer& layer = result_.graph.layers[id];
      for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
        if (layer.spec.has_input(i) && layer.spec.inputs[i]->constant &&
            !result_.graph.values[layer.inputs[i].value()].scalar) {
          return false;
        }
      }
      return true;
    });
  }

  /// Finds activations that are written as several layers. Their gradient is that of the function,
  /// which reads nothing but the operand.
  void find_written_out() {
    for (const std::string_view fn : {"gelu_erf", "silu", "hard_swish"}) {
      for (const Match& match : find_written_out_activations(graph(), fn, fn)) {
        if (!holds_scalars(match)) {
          continue;
        }
        const Layer& last = graph().layers[match.layers.back()];
        Layer whole;
        whole.name = last.name;
        whole.onnx_op = last.onnx_op;
        whole.spec = match.spec;
        whole.inputs = match.inputs;
        whole.outputs = {match.result};
        written_out_.emplace(match.layers.back(), std::move(whole));
      }
    }
  }

  void add(model::ValueId value, model::ValueId gradient) { parts_[value].push_back(gradient); }

  /// Returns the sum of all that was found of a value's gradient, once no more can come.
  std::optional<model::ValueId> gradient_of(model::ValueId value) {
    const auto found = parts_.find(value);
    if (found == parts_.end()) {
      return {};
    }
    if (found->second.size() > 1) {
      writer_.name(graph().values[value].name + " gradient");
      found->second = {writer_.sum(found->second)};
    }
    return found->second.front();
  }

  void sweep() {
    for (model::LayerId id = result_.first_loss_layer; id-- > 0;) {
      const Layer layer = graph().layers[id];
      std::vector<std::optional<model::ValueId>> results;
      bool tainted = false;
      for (const model::ValueId output : layer.outputs) {
        results.push_back(depends(output) ? gradient_of(output) : std::nullopt);
        tainted = tainted || tainted_.contains(output);
      }
      const bool reached = std::any_of(
          results.begin(), results.end(), [](const auto& each) { return each.has_value(); });
      if (reached) {
        const auto whole = written_out_.find(id);
        const bool known =
            differentiate(whole == written_out_.end() ? layer : whole->second, std::move(results));
        tainted = !known || tainted;
      }
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        if (tainted && depends(input)) {
          tainted_.insert(*input);
        }
      }
    }
  }

  bool differentiate(const Layer& layer, std::vector<std::optional<model::ValueId>> results) {
    LayerWriter::Gradient gradient{layer, std::move(results), {}, writer_, {}};
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      gradient.wanted.push_back(depends(input));
    }
    gradient.operands.resize(layer.inputs.size());
    writer_.name(layer.name + " gradient");
    const GradientRule rule = computes(layer) ? find_gradient_rule(layer.spec.op) : nullptr;
    std::optional<std::string> reason = "no rule";
    if (!layer.spec.epilogue.empty()) {
      reason = "fused steps";
    } else if (rule != nullptr) {
      reason = rule(gradient);
    }
    if (reason) {
      result_.missing.push_back(fmt::format("{} '{}': {}", layer.onnx_op, layer.name, *reason));
      return false;
    }
    for (std::size_t i = 0; i < gradient.operands.size(); ++i) {
      if (gradient.operands[i]) {
        add(*layer.inputs[i], *gradient.operands[i]);
      }
    }
    return true;
  }

  void collect() {
    graph().outputs = {result_.loss};
    for (const model::ValueId parameter : parameters_) {
      const std::optional<model::ValueId> gradient = gradient_of(parameter);
      if (tainted_.contains(parameter)) {
        result_.incomplete.push_back(parameter);
      } else if (!gradient) {
        result_.unreached.push_back(parameter);
      } else {
        result_.gradients.push_back({parameter, *gradient});
        graph().outputs.push_back(*gradient);
      }
    }
  }

  const model::Graph& from_;
  const TrainingGraph::Choice& choice_;
  TrainingGraph result_;
  LayerWriter writer_;
  std::vector<bool> depends_;  ///< by value: on a weight that is trained
  std::vector<model::ValueId> parameters_;
  std::map<model::ValueId, model::ValueId> moved_;
  std::map<model::ValueId, std::vector<model::ValueId>> parts_;
  std::set<model::ValueId> tainted_;             ///< part of their gradient is unknown
  std::map<model::LayerId, Layer> written_out_;  ///< activations, by their last layer
};

}  // namespace

TrainingGraph training_graph(const model::Graph& graph, const TrainingGraph::Choice& choice) {
  return Differentiation(graph, choice).run();
}

bool is_frozen_pattern(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*:/-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::set<model::ValueId> frozen_values(const model::Graph& graph,
                                       const std::vector<std::string>& patterns) {
  const std::set<model::ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  std::set<model::ValueId> frozen;
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (const model::Layer& layer : graph.layers) {
      const bool whole = pattern == kBatchNorms && layer.spec.op == kBatchNorms;
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        const bool is_constant =
            input && !graph.values[*input].producer && !inputs.contains(*input);
        if (is_constant && (whole || matches_pattern(pattern, graph.values[*input].name))) {
          frozen.insert(*input);
          found = true;
        }
      }
    }
    if (!found) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is to be frozen, and '{}' has no such weights: give the name "
                              "of a weight, in which '*' stands for any characters, or {}",
                              pattern,
                              graph.name,
                              kBatchNorms));
    }
  }
  return frozen;
}

}  // namespace plumb::rewrite
