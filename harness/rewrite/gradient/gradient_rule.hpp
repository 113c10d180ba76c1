// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {

/// Gradient of one layer while it is written: the gradients of its results are known, those of its
/// operands are asked for.
struct LayerGradient {
  const model::Layer& layer;                           ///< a copy: the graph grows
  std::vector<std::optional<model::ValueId>> results;  ///< absent: nothing depends on the result
  std::vector<bool> wanted;                            ///< by operand
  LayerWriter& writer;
  std::vector<std::optional<model::ValueId>> operands;  ///< the answer, by operand

  [[nodiscard]] model::ValueId dy() const { return results.front().value(); }
  [[nodiscard]] model::ValueId input(std::size_t index) const {
    return layer.inputs.at(index).value();
  }
  [[nodiscard]] model::ValueId output() const { return layer.outputs.front(); }
  [[nodiscard]] bool wants(std::size_t index) const {
    return index < wanted.size() && wanted[index];
  }
  /// Gives an operand's gradient. It is summed over the axes along which the operand was broadcast.
  void give(std::size_t index, model::ValueId gradient) {
    operands.at(index) = writer.unbroadcast(gradient, writer.dims(input(index)));
  }
};

/// Writes the layers that compute a layer's gradients. Returns why there are none, or nothing.
using GradientRule = std::optional<std::string> (*)(LayerGradient&);

/// Finds the rule of an operator. Null if its gradient is not known.
[[nodiscard]] GradientRule find_gradient_rule(std::string_view op);

// product_gradients.cpp
std::optional<std::string> convolution_gradient(LayerGradient& gradient);
std::optional<std::string> transposed_convolution_gradient(LayerGradient& gradient);
std::optional<std::string> gemm_gradient(LayerGradient& gradient);
std::optional<std::string> matmul_gradient(LayerGradient& gradient);

// attention_gradient.cpp
std::optional<std::string> attention_gradient(LayerGradient& gradient);

// elementwise_gradients.cpp
std::optional<std::string> eltwise_gradient(LayerGradient& gradient);
std::optional<std::string> prelu_gradient(LayerGradient& gradient);
std::optional<std::string> binary_gradient(LayerGradient& gradient);
std::optional<std::string> sum_gradient(LayerGradient& gradient);
std::optional<std::string> extremum_gradient(LayerGradient& gradient);
std::optional<std::string> where_gradient(LayerGradient& gradient);
std::optional<std::string> cast_gradient(LayerGradient& gradient);
std::optional<std::string> view_gradient(LayerGradient& gradient);
std::optional<std::string> concat_gradient(LayerGradient& gradient);
std::optional<std::string> split_gradient(LayerGradient& gradient);
std::optional<std::string> slice_gradient(LayerGradient& gradient);
std::optional<std::string> pad_gradient(LayerGradient& gradient);
std::optional<std::string> transpose_gradient(LayerGradient& gradient);
std::optional<std::string> expand_gradient(LayerGradient& gradient);
std::optional<std::string> gather_gradient(LayerGradient& gradient);
std::optional<std::string> tile_gradient(LayerGradient& gradient);
std::optional<std::string> resize_gradient(LayerGradient& gradient);
std::optional<std::string> depth_to_space_gradient(LayerGradient& gradient);
std::optional<std::string> space_to_depth_gradient(LayerGradient& gradient);

// normalization_gradients.cpp
std::optional<std::string> softmax_gradient(LayerGradient& gradient);
std::optional<std::string> batch_norm_gradient(LayerGradient& gradient);
std::optional<std::string> batch_norm_training_gradient(LayerGradient& gradient);
std::optional<std::string> layer_norm_gradient(LayerGradient& gradient);
std::optional<std::string> instance_norm_gradient(LayerGradient& gradient);
std::optional<std::string> group_norm_gradient(LayerGradient& gradient);
std::optional<std::string> rms_norm_gradient(LayerGradient& gradient);
std::optional<std::string> lrn_gradient(LayerGradient& gradient);
std::optional<std::string> max_pool_gradient(LayerGradient& gradient);
std::optional<std::string> average_pool_gradient(LayerGradient& gradient);
std::optional<std::string> reduce_gradient(LayerGradient& gradient);

/// Mean and variance of a value over some axes, which stay with the extent 1.
struct Moments {
  model::ValueId mean = 0;
  model::ValueId variance = 0;  ///< of the numbers as they are, not an estimate of a population's
};
/// Adds the layers that compute them.
Moments add_moments(LayerWriter& writer, model::ValueId x, const LayerWriter::Dims& axes);

}  // namespace plumb::rewrite
