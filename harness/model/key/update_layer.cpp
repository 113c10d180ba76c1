// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/update_layer.hpp"

#include <fmt/ranges.h>

#include "harness/model/key/shape_rules.hpp"

namespace plumb::model {
namespace {

constexpr std::size_t kMomentStates = 3;  // first moment, second moment, steps
constexpr std::size_t kSteps = 2;

std::size_t count_states(const LayerSpec& spec) {
  return spec.op != "sgd" ? kMomentStates : (spec.real("momentum") == 0.0 ? 0 : 1);
}

}  // namespace

bool is_update(const LayerSpec& spec) {
  return spec.op == "sgd" || spec.op == "adam" || spec.op == "lamb";
}

UpdateShape::UpdateShape(const LayerSpec& spec)
    : states_(count_states(spec)), tensors_(spec.inputs.size() / (states_ + 2)) {
  if (spec.inputs.size() % (states_ + 2) == 1) {
    condition_ = spec.inputs.size() - 1;
  }
}

double update_flops(const LayerSpec& spec) {
  // sgd: decay 2, momentum 2, weights 2. adam: decay 2, first moment 3, second 4, weights 5. lamb
  // besides: the squares of weights and direction 4, and the weights once more 2.
  const double momentum = spec.op == "sgd" && spec.real("momentum") != 0.0 ? 2.0 : 0.0;
  const double decay = spec.real("decay") != 0.0 ? 2.0 : 0.0;
  const double rule = spec.op == "sgd" ? 2.0 + momentum : (spec.op == "adam" ? 12.0 : 18.0);
  const double each = rule + decay;
  const UpdateShape shape(spec);
  double total = 0.0;
  for (std::size_t tensor = 0; tensor < shape.tensors(); ++tensor) {
    total += each * static_cast<double>(element_count(*spec.inputs[shape.weights(tensor)]));
  }
  return total;
}

namespace shape_rules {

Dims update_dims(const LayerSpec& spec) {
  for (const auto& [name, value] : spec.attributes) {
    const auto* const number = std::get_if<double>(&value);
    const bool below_one = name == "momentum" || name.starts_with("beta");
    require(number == nullptr || (*number >= 0.0 && (!below_one || *number < 1.0)),
            name.c_str(),
            "a rate, a decay or epsilon is negative, or an average keeps more than all");
  }
  require(spec.epilogue.empty(), "epilogue", "nothing is fused to an update");
  const UpdateShape shape(spec);
  const std::size_t operands = shape.states() + 2;
  const std::size_t of_tensors = shape.tensors() * operands;
  require(
      shape.tensors() > 0 && (spec.inputs.size() == of_tensors || shape.condition() == of_tensors),
      "in",
      "{} operands where each tensor has {}: weights, gradient and states",
      spec.inputs.size(),
      operands);
  require(spec.outputs.size() == shape.tensors() * (shape.states() + 1),
          "out",
          "{} outputs where each tensor has {}: weights and states",
          spec.outputs.size(),
          shape.states() + 1);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    require(spec.has_input(i), "in", "operand {} is missing", i);
    if (shape.condition() == i) {
      require(
          dims(spec, i) == Dims{1}, "in", "the condition is [{}]", fmt::join(dims(spec, i), ","));
      continue;
    }
    const bool counts = spec.op != "sgd" && i % operands == 2 + kSteps;
    const Dims& weights = dims(spec, shape.weights(i / operands));
    require(dims(spec, i) == (counts ? Dims{1} : weights),
            "in",
            "operand {} is [{}] beside weights [{}]",
            i,
            fmt::join(dims(spec, i), ","),
            fmt::join(weights, ","));
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    const TensorType& replaced = *spec.inputs[shape.replaced(i)];
    require(spec.outputs[i].dims == replaced.dims && spec.outputs[i].dtype == replaced.dtype,
            "out",
            "output {} differs from operand {}, which it replaces",
            i,
            shape.replaced(i));
  }
  return dims(spec, 0);
}

Dims loss_scale_dims(const LayerSpec& spec) {
  require(spec.epilogue.empty(), "epilogue", "nothing is fused to a loss scale");
  require(spec.integer("interval") > 0, "interval", "{} steps", spec.integer("interval"));
  for (const char* const name : {"backoff", "growth"}) {
    require(spec.real(name) > 0.0, name, "the scale is multiplied by {}", spec.real(name));
  }
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    require(spec.has_input(i), "in", "operand {} is missing", i);
  }
  require(spec.outputs.size() == 3, "out", "{} outputs, not 3", spec.outputs.size());
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    require(i == 2 || dims(spec, i) == Dims{1}, "in", "operand {} is no single number", i);
    require(spec.outputs[i].dims == Dims{1}, "out", "output {} is no single number", i);
  }
  return {1};
}

}  // namespace shape_rules
}  // namespace plumb::model
