// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"

namespace plumb::rewrite {
namespace {

using Kind = TrainingStep::Optimizer::Kind;

constexpr std::array<std::string_view, 4> kNames{"sgd", "adam", "adamw", "lamb"};

}  // namespace

TrainingStep::Optimizer standard_optimizer(TrainingStep::Optimizer::Kind kind) {
  constexpr double kDecay = 0.01;  // of both that decay the weights themselves
  TrainingStep::Optimizer optimizer{.kind = kind};
  optimizer.decay = kind == Kind::kAdamw || kind == Kind::kLamb ? kDecay : 0.0;
  optimizer.epsilon = kind == Kind::kLamb ? 1e-6 : optimizer.epsilon;
  return optimizer;
}

std::vector<std::string> optimizer_names() {
  return {kNames.begin(), kNames.end()};
}

std::string_view to_text(TrainingStep::Optimizer::Kind kind) {
  return enum_text(kNames, kind);
}

std::optional<TrainingStep::Optimizer::Kind> parse_optimizer(std::string_view text) {
  return parse_enum<Kind>(kNames, text);
}

namespace {

using model::Layer;
using model::ValueId;

class Accumulation {
 public:
  explicit Accumulation(TrainingGraph& training)
      : training_(training),
        graph_(training.graph),
        writer_(graph_),
        layers_(graph_.layers),
        inputs_(graph_.inputs) {
    sums_[training.loss] = training.loss;
    for (const TrainingGraph::Gradient& each : training.gradients) {
      sums_[each.gradient] = each.gradient;
    }
  }

  void add_micro_batch(std::int64_t number) {
    copies_.clear();
    for (const ValueId input : inputs_) {
      training_.repeated.push_back({copy(input, number), input});
      graph_.inputs.push_back(copies_.at(input));
    }
    for (const Layer& layer : layers_) {
      if (reads_copies(layer)) {
        add_copy(layer, number);
      }
    }
  }

  void finish() {
    training_.loss = sums_.at(training_.loss);
    graph_.outputs = {training_.loss};
    for (TrainingGraph::Gradient& each : training_.gradients) {
      each.gradient = sums_.at(each.gradient);
      graph_.outputs.push_back(each.gradient);
    }
  }

 private:
  ValueId copy(ValueId value, std::int64_t number) {
    model::Value made = graph_.values[value];
    made.name += fmt::format(" of micro-batch {}", number);
    made.producer.reset();
    copies_[value] = graph_.values.size();
    graph_.values.push_back(std::move(made));
    return copies_[value];
  }

  [[nodiscard]] bool reads_copies(const Layer& layer) const {
    return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const auto& input) {
      return input && copies_.contains(*input);
    });
  }

  /// Appends a layer of the first micro-batch for another one, and adds up what it makes.
  void add_copy(Layer layer, std::int64_t number) {
    const std::vector<ValueId> made = layer.outputs;
    for (std::optional<ValueId>& input : layer.inputs) {
      if (const auto found = input ? copies_.find(*input) : copies_.end(); found != copies_.end()) {
        input = found->second;
      }
    }
    for (ValueId& output : layer.outputs) {
      output = copy(output, number);
      graph_.values[output].producer = graph_.layers.size();
    }
    layer.name += fmt::format(" of micro-batch {}", number);
    graph_.layers.push_back(std::move(layer));
    for (const ValueId value : made) {
      if (const auto sum = sums_.find(value); sum != sums_.end()) {
        writer_.name(graph_.values[value].name);
        sum->second = writer_.binary("add", sum->second, copies_.at(value));
        graph_.layers.back().of_loss = value == training_.loss;
      }
    }
  }

  TrainingGraph& training_;
  model::Graph& graph_;
  LayerWriter writer_;
  const std::vector<Layer> layers_;    // of the first micro-batch
  const std::vector<ValueId> inputs_;  // its own
  std::map<ValueId, ValueId> sums_;    // so far, of the loss and of each gradient
  std::map<ValueId, ValueId> copies_;  // of the values of the first micro-batch
};

/// Repeats both passes of a differentiated model for further micro-batches, one after the other,
/// and adds up losses and gradients.
///
/// Each micro-batch has inputs of its own. What depends on weights alone is computed once. Each
/// gradient is added to those before as soon as it is there. The sums are those of the whole batch
/// if each loss is a mean over its micro-batch and TrainingGraph::Choice::share is 1 ÷
/// `micro_batches`. A batch normalisation still takes the statistics of a micro-batch.
void accumulate(TrainingGraph& training, std::int64_t micro_batches) {
  Accumulation accumulation(training);
  for (std::int64_t number = 2; number <= micro_batches; ++number) {
    accumulation.add_micro_batch(number);
  }
  accumulation.finish();
}

/// Rule of an optimiser as a layer.
struct UpdateRule {
  std::string op;
  LayerWriter::Attributes attributes;
  std::vector<std::string_view> states;
};

constexpr std::string_view kSteps = "steps";  // one number, where other states are like the weights

UpdateRule rule_of(const TrainingStep::Optimizer& optimizer) {
  if (optimizer.kind == Kind::kSgd) {
    UpdateRule rule{
        "sgd",
        {{"decay", optimizer.decay}, {"momentum", optimizer.momentum}, {"rate", optimizer.rate}},
        {}};
    if (optimizer.momentum != 0.0) {
      rule.states = {"momentum"};
    }
    return rule;
  }
  if (optimizer.kind == Kind::kLamb) {
    return {"lamb",
            {{"beta1", optimizer.beta1},
             {"beta2", optimizer.beta2},
             {"decay", optimizer.decay},
             {"epsilon", optimizer.epsilon},
             {"rate", optimizer.rate}},
            {"first moment", "second moment", kSteps}};
  }
  const std::string decay_of = optimizer.kind == Kind::kAdamw ? "weights" : "gradient";
  return {"adam",
          {{"beta1", optimizer.beta1},
           {"beta2", optimizer.beta2},
           {"decay", optimizer.decay},
           {"decay_of", decay_of},
           {"epsilon", optimizer.epsilon},
           {"rate", optimizer.rate}},
          {"first moment", "second moment", kSteps}};
}

/// Gives the last layer's operands and results one dimension: an update does not depend on others,
/// and weights of one size share a key.
void flatten_last_layer(model::Graph& graph) {
  model::Layer& layer = graph.layers.back();
  const auto flatten = [](model::TensorType& type) { type.dims = {model::element_count(type)}; };
  for (std::optional<model::TensorType>& input : layer.spec.inputs) {
    flatten(input.value());
  }
  for (model::TensorType& output : layer.spec.outputs) {
    flatten(output);
  }
  layer.key = model::to_key(layer.spec);
  layer.cost = model::compute_cost(layer.spec);
}

void check_complete(const TrainingGraph& training) {
  if (!training.missing.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot be trained, because layers have no gradient: {}",
                            training.graph.name,
                            fmt::join(training.missing, "; ")));
  }
  if (training.gradients.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' has no weights that its loss depends on", training.graph.name));
  }
}

/// Share of a batch's statistics in the new running ones, as PyTorch has it.
constexpr double kStatisticsRate = 0.1;

/// Adds the update of a value, an input of the step, by what it follows, negated: gradient descent
/// with the decay 1 makes (1 − rate) · value + rate · what it follows of it.
model::ValueId update_towards(LayerWriter& writer,
                              model::Graph& whole,
                              model::ValueId value,
                              model::ValueId negated,
                              double rate) {
  model::Value& updated = whole.values[value];
  updated.type.constant = false;
  whole.inputs.push_back(value);
  writer.name(updated.name);
  return writer
      .add("sgd",
           {value, negated},
           {updated.type.dims},
           {{"decay", 1.0}, {"momentum", 0.0}, {"rate", rate}})
      .front();
}

/// Value of a step that the next step finds changed.
struct FollowingValue {
  model::ValueId value = 0;
  model::ValueId negated = 0;  ///< what it follows
};

/// Loss scale that adapts, and the condition of all updates.
struct LossScaling {
  std::vector<FollowingValue> next;  ///< the scale, and the steps since it changed
  model::ValueId applied = 0;        ///< 0 where a gradient is not finite, else 1
};

/// Adds the layer that adapts the loss scale by the rule of PyTorch's GradScaler, with its numbers,
/// and divides all gradients by the scale.
LossScaling adapt_loss_scale(LayerWriter& writer, TrainingStep& step) {
  constexpr std::int64_t kInterval = 2000;  // of steps without an overflow until the scale grows
  constexpr std::size_t kMostGradients = 1000;  // a key has 1,024 operands at most
  if (step.training.gradients.size() > kMostGradients) {
    throw Error(Error::Kind::kUser,
                fmt::format("a loss scale adapts to {} gradients at most, and the step has {}",
                            kMostGradients,
                            step.training.gradients.size()));
  }
  model::Graph& whole = step.training.graph;
  const model::ValueId scale = step.training.loss_scale.value();
  const model::ValueId steps = whole.values.size();
  const model::TensorType number = whole.values[scale].type;
  whole.values.push_back({"steps of the loss scale", number, {}, {}});
  step.states.push_back(steps);
  LayerWriter::Operands operands{scale, steps};
  for (const TrainingGraph::Gradient& each : step.training.gradients) {
    operands.emplace_back(each.gradient);
  }
  writer.name(whole.values[scale].name);
  const std::vector<model::ValueId> made =
      writer.add("loss_scale",
                 operands,
                 {{1}, {1}, {1}},
                 {{"backoff", 0.5}, {"growth", 2.0}, {"interval", kInterval}});
  LossScaling scaling{
      {{scale, writer.scaled(made.at(0), -1.0)}, {steps, writer.scaled(made.at(1), -1.0)}},
      made.at(2)};
  for (TrainingGraph::Gradient& each : step.training.gradients) {
    writer.name(whole.values[each.parameter].name);
    each.gradient = writer.binary("div", each.gradient, scale);
  }
  return scaling;
}

/// Adds updates by the gradients of a complete training graph.
TrainingStep add_updates(TrainingGraph training, const TrainingStep::Optimizer& optimizer) {
  TrainingStep step{std::move(training), 0, {}, {0}};
  model::Graph& whole = step.training.graph;
  LayerWriter writer(whole);
  std::vector<FollowingValue> statistics;
  for (const TrainingGraph::RunningStatistic& each : step.training.statistics) {
    writer.name(whole.values[each.running].name);
    statistics.push_back({each.running, writer.scaled(each.of_batch, -each.factor)});
  }
  LossScaling scaling;
  if (step.training.loss_scale) {
    scaling = adapt_loss_scale(writer, step);
  }
  step.first_update_layer = whole.layers.size();
  const UpdateRule rule = rule_of(optimizer);
  std::vector<std::vector<model::ValueId>> results(rule.states.size() + 1);  // by kind
  for (const TrainingGraph::Gradient& each : step.training.gradients) {
    const model::Value parameter = whole.values[each.parameter];
    whole.inputs.push_back(each.parameter);
    LayerWriter::Operands operands{each.parameter, each.gradient};
    std::vector<LayerWriter::Dims> extents{parameter.type.dims};
    for (const std::string_view state : rule.states) {
      model::TensorType type = parameter.type;
      if (state == kSteps) {
        type.dims = {1};
      }
      const model::ValueId id = whole.values.size();
      whole.values.push_back({fmt::format("{} {}", parameter.name, state), type, {}, {}});
      whole.inputs.push_back(id);
      step.states.push_back(id);
      operands.push_back(id);
      extents.push_back(type.dims);
    }
    if (step.training.loss_scale) {
      operands.emplace_back(scaling.applied);
    }
    writer.name(parameter.name);
    const std::vector<model::ValueId> made =
        writer.add(rule.op, operands, extents, rule.attributes);
    flatten_last_layer(whole);
    for (std::size_t kind = 0; kind < made.size(); ++kind) {
      results[kind].push_back(made[kind]);
    }
  }
  results.emplace_back();  // running statistics
  for (const FollowingValue& each : statistics) {
    results.back().push_back(
        update_towards(writer, whole, each.value, each.negated, kStatisticsRate));
  }
  for (const FollowingValue& each : scaling.next) {  // each of a kind of its own
    results.push_back({update_towards(writer, whole, each.value, each.negated, 1.0)});
  }
  whole.outputs = {step.training.loss};
  for (std::size_t kind = 0; kind < results.size(); ++kind) {
    whole.outputs.insert(whole.outputs.end(), results[kind].begin(), results[kind].end());
    step.kinds.insert(step.kinds.end(), results[kind].size(), kind + 1);
  }
  return step;
}

}  // namespace

TrainingStep training_step(const model::Graph& graph,
                           const TrainingGraph::Choice& choice,
                           const TrainingStep::Optimizer& optimizer) {
  TrainingGraph training = training_graph(graph, choice);
  check_complete(training);
  return add_updates(std::move(training), optimizer);
}

TrainingStep training_step(const model::Graph& graph, const TrainingStep::Choice& choice) {
  TrainingGraph training = training_graph(graph,
                                          {.loss = choice.loss,
                                           .frozen = frozen_values(graph, choice.frozen),
                                           .share = 1.0 / static_cast<double>(choice.micro_batches),
                                           .running_statistics = choice.running_statistics,
                                           .loss_scaling = choice.loss_scaling});
  check_complete(training);
  accumulate(training, choice.micro_batches);
  TrainingStep step = add_updates(std::move(training), choice.optimizer);
  step.memory_cap = choice.memory_cap;
  return step;
}

bool is_step(const model::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
    return layer.role == model::Layer::Role::kCompute && model::is_update(layer.spec);
  });
}

}  // namespace plumb::rewrite
