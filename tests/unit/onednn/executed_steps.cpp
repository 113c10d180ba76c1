// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onednn/executed_steps.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/model/onnx/weights.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::onednn {

double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(found.at(i) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / size);
}

model::Graph toy() {
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({16, 2, 6, 6});
  const auto features = sketch.relu(sketch.batch_norm(sketch.conv(x, 8, 3)));
  const auto flat = sketch.view(features, {16, 8 * 6 * 6});
  return sketch.build({sketch.gemm(sketch.relu(sketch.gemm(flat, 16)), 4)});
}

Values toy_values(const rewrite::TrainingStep& step) {
  const model::Graph& graph = step.training.graph;
  Values values;
  for (model::ValueId id = 0; id < graph.values.size(); ++id) {
    const model::Value& value = graph.values[id];
    if (!value.producer) {
      model::WeightStream random = model::stream_of(id, "toy");
      const double size = id == graph.inputs.front() ? 1.0 : 0.3;
      std::vector<double> numbers(static_cast<std::size_t>(element_count(value.type)));
      std::generate(numbers.begin(), numbers.end(), [&] { return size * random.normal(); });
      values[id] = engine::tensor_from(value.type, numbers);
    }
  }
  engine::add_step_inputs(step, 1, values);
  return values;
}

std::vector<model::Layer> layers_of(const model::Graph& graph, std::string_view op) {
  std::vector<model::Layer> found;
  std::copy_if(graph.layers.begin(),
               graph.layers.end(),
               std::back_inserter(found),
               [&](const model::Layer& layer) { return layer.spec.op == op; });
  return found;
}

}  // namespace plumb::onednn
