// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/training_layers.hpp"

#include <fmt/ranges.h>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/shape_rules.hpp"

namespace plumb::model {

bool is_convolution_gradient(const LayerSpec& spec) {
  return spec.op == "conv_backward_data" || spec.op == "conv_backward_weights";
}

LayerSpec forward_layer(const LayerSpec& gradient) {
  LayerSpec forward = gradient;
  forward.outputs = {gradient.inputs.at(0).value()};
  forward.outputs[0].constant = false;
  forward.epilogue.clear();
  forward.attributes.erase("outputs");
  if (gradient.op == "conv_backward_data") {
    forward.op = "conv";
    forward.inputs = {gradient.outputs.at(0), gradient.inputs.at(1)};
  } else if (gradient.op == "conv_backward_weights") {
    forward.op = "conv";
    forward.inputs = {gradient.inputs.at(1), gradient.outputs.at(0)};
  } else if (gradient.op == "attention_backward") {
    forward.op = "attention";
    forward.inputs = {gradient.inputs.at(1), gradient.inputs.at(2), gradient.inputs.at(3)};
    forward.attributes["outputs"] = std::string("y");
    forward.attributes["softcap"] = 0.0;
  } else if (gradient.op == "gather_backward") {
    forward.op = "gather";
    forward.inputs = {gradient.outputs.at(0), gradient.inputs.at(1)};
  } else {
    forward.op = gradient.op.substr(0, gradient.op.find("_backward"));
    forward.inputs = {gradient.outputs.at(0)};
  }
  return forward;
}

LayerSpec product_of(const LayerSpec& gradient) {
  LayerSpec product = gradient;
  product.op = "gemm";
  product.outputs.resize(1);
  product.attributes.erase("of");
  product.attributes["beta"] = 1.0;
  return product;
}

namespace shape_rules {
namespace {

void require_output(const LayerSpec& spec, std::size_t index, const Dims& expected) {
  require(spec.outputs.size() > index && spec.outputs[index].dims == expected,
          "out",
          "output {} is not [{}]",
          index,
          fmt::join(expected, ","));
}

void require_operand(const LayerSpec& spec, std::size_t index, const Dims& expected) {
  require(dims(spec, index) == expected,
          "in",
          "operand {} is not [{}]",
          index,
          fmt::join(expected, ","));
}

/// Checks the result's gradient against the result of the forward layer.
void require_gradient(const LayerSpec& spec, const Dims& result) {
  require(dims(spec, 0) == result,
          "in",
          "the result's gradient is [{}] where the layer's result is [{}]",
          fmt::join(dims(spec, 0), ","),
          fmt::join(result, ","));
}

}  // namespace

Dims conv_gradient_dims(const LayerSpec& spec) {
  require_gradient(spec, conv_dims(forward_layer(spec)));
  const Dims& result = spec.outputs[0].dims;
  if (spec.op == "conv_backward_weights") {
    const bool biased = spec.text("outputs") == "wb";
    require(spec.outputs.size() == (biased ? 2 : 1),
            "out",
            "{} outputs where outputs={}",
            spec.outputs.size(),
            spec.text("outputs"));
    if (biased) {
      require_output(spec, 1, {result[0]});
    }
  }
  return result;
}

Dims pool_gradient_dims(const LayerSpec& spec) {
  require_gradient(spec, pool_dims(forward_layer(spec)));
  if (spec.op == "max_pool_backward") {
    require_operand(spec, 1, spec.outputs[0].dims);
  }
  return spec.outputs[0].dims;
}

Dims gather_gradient_dims(const LayerSpec& spec) {
  require_gradient(spec, gather_dims(forward_layer(spec)));
  return spec.outputs[0].dims;
}

Dims gemm_bias_gradient_dims(const LayerSpec& spec) {
  LayerSpec product = product_of(spec);
  product.inputs.resize(2);
  Dims result = gemm_dims(product);
  require_output(spec, 1, {result[spec.text("of") == "a" ? 0 : 1]});
  return result;
}

Dims eltwise_gradient_dims(const LayerSpec& spec) {
  require_operand(spec, 1, dims(spec, 0));
  return dims(spec, 0);
}

Dims softmax_gradient_dims(const LayerSpec& spec) {
  require_operand(spec, 1, dims(spec, 0));
  return softmax_dims(spec);
}

Dims attention_gradient_dims(const LayerSpec& spec) {
  const LayerSpec forward = forward_layer(spec);
  require_gradient(spec, attention_dims(forward));
  require_operand(spec, 4, dims(spec, 0));
  const AttentionShape s = attention_shape(forward);
  require_operand(spec, 5, {s.batch, s.q_heads, s.queries, 1});
  require_output(spec, 1, dims(spec, 2));
  require_output(spec, 2, dims(spec, 3));
  return dims(spec, 1);
}

Dims batch_norm_training_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  require(x.size() >= 2, "in", "a rank below 2 has no channels");
  for (std::size_t index = 1; index < 3; ++index) {
    require_operand(spec, index, {x[1]});
    require_output(spec, index, {x[1]});
  }
  return x;
}

Dims batch_norm_gradient_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 1);
  require(x.size() >= 2, "in", "a rank below 2 has no channels");
  require_operand(spec, 0, x);
  for (std::size_t parameter = 2; parameter < 5; ++parameter) {
    require_operand(spec, parameter, {x[1]});
  }
  require_output(spec, 1, {x[1]});
  require_output(spec, 2, {x[1]});
  return x;
}

Dims layer_norm_gradient_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 1);
  require_operand(spec, 0, x);
  const auto axis = static_cast<std::ptrdiff_t>(read_axis(spec, "axis", x.size()));
  const Dims row(x.begin() + axis, x.end());
  Dims statistics(x.begin(), x.begin() + axis);
  statistics.resize(x.size(), 1);
  require_operand(spec, 2, row);
  require_operand(spec, 3, statistics);
  require_operand(spec, 4, statistics);
  require_output(spec, 1, row);
  require_output(spec, 2, row);
  return x;
}

}  // namespace shape_rules

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
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 24;  // that f32 counts
  require(spec.integer("interval") > 0 && spec.integer("interval") <= kMostSteps,
          "interval",
          "{} steps",
          spec.integer("interval"));
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
