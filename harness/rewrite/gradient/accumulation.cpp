// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/accumulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
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

}  // namespace

void accumulate(TrainingGraph& training, std::int64_t micro_batches) {
  Accumulation accumulation(training);
  for (std::int64_t number = 2; number <= micro_batches; ++number) {
    accumulation.add_micro_batch(number);
  }
  accumulation.finish();
}

}  // namespace plumb::rewrite
