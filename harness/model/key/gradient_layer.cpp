// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/gradient_layer.hpp"

#include <fmt/ranges.h>

#include "harness/model/key/attention_shape.hpp"
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
  const Dims result = gemm_dims(product);
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
}  // namespace plumb::model
