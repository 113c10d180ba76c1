// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/update_layer.hpp"
#include "harness/rewrite/gradient/accumulation.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

using Kind = Optimizer::Kind;

/// Rule of an optimiser as a layer.
struct UpdateRule {
  std::string op;
  LayerWriter::Attributes attributes;
  std::vector<std::string_view> states;
};

constexpr std::string_view kSteps = "steps";  // one number, where other states are like the weights

UpdateRule rule_of(const Optimizer& optimizer) {
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

/// Adds updates by the gradients of a complete training graph.
TrainingStep add_updates(TrainingGraph training, const Optimizer& optimizer) {
  TrainingStep step{std::move(training), 0, {}, {0}};
  model::Graph& whole = step.training.graph;
  step.first_update_layer = whole.layers.size();
  const UpdateRule rule = rule_of(optimizer);
  LayerWriter writer(whole);
  std::vector<std::vector<model::ValueId>> results(rule.states.size() + 1);  // by kind
  for (const ParameterGradient& each : step.training.gradients) {
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
    writer.name(parameter.name);
    const std::vector<model::ValueId> made =
        writer.add(rule.op, operands, extents, rule.attributes);
    flatten_last_layer(whole);
    for (std::size_t kind = 0; kind < made.size(); ++kind) {
      results[kind].push_back(made[kind]);
    }
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
                           const TrainingChoice& choice,
                           const Optimizer& optimizer) {
  TrainingGraph training = training_graph(graph, choice);
  check_complete(training);
  return add_updates(std::move(training), optimizer);
}

TrainingStep training_step(const model::Graph& graph, const StepChoice& choice) {
  TrainingGraph training =
      training_graph(graph, {.share = 1.0 / static_cast<double>(choice.micro_batches)});
  check_complete(training);
  accumulate(training, choice.micro_batches);
  return add_updates(std::move(training), choice.optimizer);
}

std::optional<StepChoice> parse_step_choice(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<Kind> kind = parse_optimizer(text.substr(0, colon));
  StepChoice choice;
  if (colon < text.size()) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, choice.micro_batches);
    if (error != std::errc{} || rest != end || choice.micro_batches < 2 ||
        choice.micro_batches > kMaxMicroBatches) {
      return std::nullopt;
    }
  }
  if (!kind) {
    return std::nullopt;
  }
  choice.optimizer = standard_optimizer(*kind);
  return choice;
}

std::string step_choice_words() {
  return fmt::format("{}, and ':K' behind it for K micro-batches, 2 to {}",
                     fmt::join(optimizer_names(), ", "),
                     kMaxMicroBatches);
}

bool is_step(const model::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
    return layer.role == model::Layer::Role::kCompute && model::is_update(layer.spec);
  });
}

}  // namespace plumb::rewrite
