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

/// Writer of the inputs that a step has beside the model's.
class StepInputs {
 public:
  StepInputs(const rewrite::TrainingGraph& training,
             std::uint64_t seed,
             std::map<model::ValueId, model::Tensor>& values)
      : training_(training), seed_(seed), values_(values) {}

  void add_target(model::ValueId id) {
    add(id, [&](model::WeightStream& random, std::vector<double>& numbers) {
      if (training_.classes) {
        draw_classes(*training_.classes, random, numbers);
      } else {
        std::generate(numbers.begin(), numbers.end(), [&] { return random.uniform() * 2.0 - 1.0; });
      }
    });
  }

  void add_mask(model::ValueId id) {
    add(id, [](model::WeightStream& random, std::vector<double>& numbers) {
      // Half of the elements, whatever the model says: its ratio changes no time.
      std::generate(
          numbers.begin(), numbers.end(), [&] { return random.next() % 2 == 0 ? 2.0 : 0.0; });
    });
  }

  void add_constant(model::ValueId id, double number) {
    add(id, [&](model::WeightStream& /*random*/, std::vector<double>& numbers) {
      std::fill(numbers.begin(), numbers.end(), number);
    });
  }

 private:
  template <typename Fill>
  void add(model::ValueId id, const Fill& fill) {
    const model::TensorType& type = training_.graph.values.at(id).type;
    std::vector<double> numbers(static_cast<std::size_t>(element_count(type)), 0.0);
    model::WeightStream random = model::stream_of(seed_, training_.graph.values[id].name);
    fill(random, numbers);
    values_.insert_or_assign(id, tensor_from(type, numbers));
  }

  const rewrite::TrainingGraph& training_;
  std::uint64_t seed_;
  std::map<model::ValueId, model::Tensor>& values_;
};

}  // namespace

void add_step_inputs(const rewrite::TrainingStep& step,
                     std::uint64_t seed,
                     std::map<model::ValueId, model::Tensor>& values) {
  const rewrite::TrainingGraph& training = step.training;
  StepInputs inputs(training, seed, values);
  inputs.add_target(training.target);
  for (const model::ValueId mask : training.masks) {
    inputs.add_mask(mask);
  }
  for (const model::ValueId state : step.states) {
    inputs.add_constant(state, 0.0);
  }
  if (training.loss_scale) {
    inputs.add_constant(*training.loss_scale, rewrite::kFirstLossScale);
  }
  for (const rewrite::RepeatedInput& each : training.repeated) {
    if (each.first == training.target) {
      inputs.add_target(each.input);
    } else if (std::find(training.masks.begin(), training.masks.end(), each.first) !=
               training.masks.end()) {
      inputs.add_mask(each.input);
    }
  }
}

}  // namespace plumb::engine
