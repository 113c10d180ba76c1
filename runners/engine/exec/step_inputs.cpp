// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/step_inputs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/model/onnx/weight_stream.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// Draws one class for each row.
void draw_classes(const rewrite::ClassAxis& axis,
                  model::WeightStream& random,
                  std::vector<double>& numbers) {
  for (std::int64_t outer = 0; outer < axis.outer; ++outer) {
    for (std::int64_t inner = 0; inner < axis.inner; ++inner) {
      const auto drawn =
          static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(axis.classes));
      numbers.at(static_cast<std::size_t>((outer * axis.classes + drawn) * axis.inner + inner)) =
          1.0;
    }
  }
}

}  // namespace

void add_step_inputs(const rewrite::TrainingStep& step,
                     std::uint64_t seed,
                     std::map<model::ValueId, model::Tensor>& values) {
  const rewrite::TrainingGraph& training = step.training;
  const auto add = [&](model::ValueId id, const auto& fill) {
    const model::TensorType& type = training.graph.values.at(id).type;
    std::vector<double> numbers(static_cast<std::size_t>(element_count(type)), 0.0);
    model::WeightStream random = model::stream_of(seed, training.graph.values[id].name);
    fill(random, numbers);
    values.insert_or_assign(id, tensor_from(type, numbers));
  };
  add(training.target, [&](model::WeightStream& random, std::vector<double>& numbers) {
    if (training.classes) {
      draw_classes(*training.classes, random, numbers);
    } else {
      std::generate(numbers.begin(), numbers.end(), [&] { return random.uniform() * 2.0 - 1.0; });
    }
  });
  for (const model::ValueId mask : training.masks) {
    add(mask, [](model::WeightStream& random, std::vector<double>& numbers) {
      // Half of the elements, whatever the model says: its ratio changes no time.
      std::generate(
          numbers.begin(), numbers.end(), [&] { return random.next() % 2 == 0 ? 2.0 : 0.0; });
    });
  }
  for (const model::ValueId state : step.states) {
    add(state, [](model::WeightStream& /*random*/, std::vector<double>& /*numbers*/) {});
  }
}

}  // namespace plumb::engine
