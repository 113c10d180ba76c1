// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/model_inputs.hpp"

#include <algorithm>

#include "harness/model/onnx/weight_stream.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// Returns how many values an integer input may take. It is the extent of the smallest axis that
/// the input indexes.
std::int64_t index_bound(const model::Graph& graph, model::ValueId input) {
  std::optional<std::int64_t> bound;
  for (const model::Layer& layer : graph.layers) {
    const bool indexes = layer.spec.op == "gather" && layer.inputs.size() > 1 &&
                         layer.inputs[1] == input && layer.spec.has_input(0);
    if (indexes) {
      const auto axis = static_cast<std::size_t>(layer.spec.integer("axis"));
      const std::int64_t extent = layer.spec.inputs[0]->dims.at(axis);
      bound = std::min(bound.value_or(extent), extent);
    }
  }
  return std::max<std::int64_t>(bound.value_or(2), 1);
}

}  // namespace

std::vector<model::Tensor> model_inputs(const model::Graph& graph, std::uint64_t seed) {
  std::vector<model::Tensor> inputs;
  for (const model::ValueId id : graph.inputs) {
    const model::Value& value = graph.values[id];
    model::WeightStream random = model::stream_of(seed, "input:" + value.name);
    std::vector<double> numbers(static_cast<std::size_t>(element_count(value.type)));
    if (model::is_floating(value.type.dtype)) {
      std::generate(numbers.begin(), numbers.end(), [&] { return random.uniform() * 2.0 - 1.0; });
    } else {
      const auto bound = static_cast<std::uint64_t>(index_bound(graph, id));
      std::generate(numbers.begin(), numbers.end(), [&] {
        return static_cast<double>(random.next() % bound);
      });
    }
    inputs.push_back(tensor_from(value.type, numbers));
  }
  return inputs;
}

}  // namespace plumb::engine
