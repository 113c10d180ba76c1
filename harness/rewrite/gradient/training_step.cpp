// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/update_layer.hpp"
#include "harness/rewrite/gradient/frozen_values.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"

namespace plumb::rewrite {
namespace {

/// Highest number of micro-batches of a step, each of which repeats the layers of the model.
constexpr std::int64_t kMaxMicroBatches = 64;

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
    for (const ParameterGradient& each : training.gradients) {
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
    for (ParameterGradient& each : training_.gradients) {
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
/// if each loss is a mean over its micro-batch and TrainingChoice::share is 1 ÷ `micro_batches`. A
/// batch normalisation still takes the statistics of a micro-batch.
void accumulate(TrainingGraph& training, std::int64_t micro_batches) {
  Accumulation accumulation(training);
  for (std::int64_t number = 2; number <= micro_batches; ++number) {
    accumulation.add_micro_batch(number);
  }
  accumulation.finish();
}

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

/// Share of a batch's statistics in the new running ones, as PyTorch has it.
constexpr double kStatisticsRate = 0.1;

/// Adds the update of a running statistic by what it follows, negated: gradient descent with the
/// decay 1 makes (1 − rate) · running + rate · batch of it.
model::ValueId update_statistic(LayerWriter& writer,
                                model::Graph& whole,
                                const RunningStatistic& statistic,
                                model::ValueId negated) {
  model::Value& running = whole.values[statistic.running];
  running.type.constant = false;
  whole.inputs.push_back(statistic.running);
  writer.name(running.name);
  return writer
      .add("sgd",
           {statistic.running, negated},
           {running.type.dims},
           {{"decay", 1.0}, {"momentum", 0.0}, {"rate", kStatisticsRate}})
      .front();
}

/// Adds updates by the gradients of a complete training graph.
TrainingStep add_updates(TrainingGraph training, const Optimizer& optimizer) {
  TrainingStep step{std::move(training), 0, {}, {0}};
  model::Graph& whole = step.training.graph;
  LayerWriter writer(whole);
  std::vector<model::ValueId> negated;  // of the batch's statistics
  for (const RunningStatistic& each : step.training.statistics) {
    writer.name(whole.values[each.running].name);
    negated.push_back(writer.scaled(each.of_batch, -each.factor));
  }
  step.first_update_layer = whole.layers.size();
  const UpdateRule rule = rule_of(optimizer);
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
  results.emplace_back();  // running statistics
  for (std::size_t i = 0; i < negated.size(); ++i) {
    results.back().push_back(
        update_statistic(writer, whole, step.training.statistics[i], negated[i]));
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
  TrainingGraph training = training_graph(graph,
                                          {.loss = choice.loss,
                                           .frozen = frozen_values(graph, choice.frozen),
                                           .share = 1.0 / static_cast<double>(choice.micro_batches),
                                           .running_statistics = choice.running_statistics});
  check_complete(training);
  accumulate(training, choice.micro_batches);
  return add_updates(std::move(training), choice.optimizer);
}

namespace {

constexpr std::string_view kFreeze = "freeze=";
constexpr std::string_view kRunningStatistics = "running_statistics";

/// Reads "sgd" or "sgd:4" into a choice. Returns false for another text.
bool read_optimizer(std::string_view text, StepChoice& choice) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<Kind> kind = parse_optimizer(text.substr(0, colon));
  if (colon < text.size()) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, choice.micro_batches);
    if (error != std::errc{} || rest != end || choice.micro_batches < 2 ||
        choice.micro_batches > kMaxMicroBatches) {
      return false;
    }
  }
  if (kind) {
    choice.optimizer = standard_optimizer(*kind);
  }
  return kind.has_value();
}

/// Reads a loss, "freeze=PATTERN" or kRunningStatistics into a choice. Returns false for another
/// text and a second loss.
bool read_option(std::string_view text, StepChoice& choice) {
  if (text == kRunningStatistics) {
    return !std::exchange(choice.running_statistics, true);
  }
  if (text.starts_with(kFreeze)) {
    choice.frozen.emplace_back(text.substr(kFreeze.size()));
    return is_frozen_pattern(choice.frozen.back());
  }
  const bool first = !choice.loss;
  choice.loss = parse_loss(text);
  return first && choice.loss.has_value();
}

}  // namespace

std::optional<StepChoice> parse_step_choice(std::string_view text) {
  StepChoice choice;
  std::istringstream words{std::string(text)};
  std::string word;
  std::getline(words, word, '+');
  bool good = !text.ends_with('+') && read_optimizer(word, choice);
  while (good && std::getline(words, word, '+')) {
    good = read_option(word, choice);
  }
  return good ? std::optional(std::move(choice)) : std::nullopt;
}

std::string step_choice_text(std::string text,
                             const std::optional<std::string>& loss,
                             const std::vector<std::string>& frozen) {
  text += loss ? "+" + *loss : "";
  for (const std::string& pattern : frozen) {
    text += fmt::format("+{}{}", kFreeze, pattern);
  }
  return text;
}

std::string to_text(const StepChoice& choice) {
  std::string text(to_text(choice.optimizer.kind));
  if (choice.micro_batches > 1) {
    text += fmt::format(":{}", choice.micro_batches);
  }
  std::optional<std::string> loss;
  if (choice.loss) {
    loss = to_text(*choice.loss);
  }
  const std::set<std::string> frozen(choice.frozen.begin(), choice.frozen.end());
  text = step_choice_text(std::move(text), loss, {frozen.begin(), frozen.end()});
  return choice.running_statistics ? fmt::format("{}+{}", text, kRunningStatistics) : text;
}

std::string step_choice_words() {
  return fmt::format(
      "{}, ':K' behind it for K micro-batches, 2 to {}, and '+LOSS', '+{}WEIGHTS' "
      "and '+{}' behind that",
      fmt::join(optimizer_names(), ", "),
      kMaxMicroBatches,
      kFreeze,
      kRunningStatistics);
}

bool is_step(const model::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
    return layer.role == model::Layer::Role::kCompute && model::is_update(layer.spec);
  });
}

}  // namespace plumb::rewrite
