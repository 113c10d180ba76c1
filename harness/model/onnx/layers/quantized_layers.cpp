// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

/// Returns the position of a zero point among the node's inputs. A zero point that is known to be
/// zero counts as absent, which means the same.
std::size_t zero_point_at(const NodeView& node, std::size_t index) {
  const std::size_t nowhere = node.input_count();
  if (!node.has_input(index)) {
    return nowhere;
  }
  const ConstantValue* const known = node.input(index)->known();
  if (known == nullptr || known->is_real()) {
    return index;
  }
  const bool zero = std::all_of(
      known->integers.begin(), known->integers.end(), [](std::int64_t n) { return n == 0; });
  return zero ? nowhere : index;
}

/// Begins `quantize` or `dequantize`: x, scale, zero point.
MappedLayer grid_layer(const NodeView& node, std::string op) {
  if (node.integer("block_size", 0) != 0) {
    throw Unsupported(fmt::format("scales of blocks of {}", node.integer("block_size", 0)));
  }
  const TensorType& scale = node.input_type(1);
  MappedLayer layer = begin_layer(node, std::move(op), {0, 1, zero_point_at(node, 2)});
  layer.spec.attributes["axis"] =
      element_count(scale) == 1
          ? 0  // equal work, one key
          : NodeView::positive_axis(node.integer("axis", 1), node.dims(0).size());
  return layer;
}

}  // namespace

MappedLayer map_quantize(const NodeView& node) {
  return grid_layer(node, "quantize");
}

MappedLayer map_dequantize(const NodeView& node) {
  return grid_layer(node, "dequantize");
}

MappedLayer map_conv_integer(const NodeView& node) {
  const std::size_t nowhere = node.input_count();
  return convolution_layer(
      node, "conv_integer", {0, 1, nowhere, zero_point_at(node, 2), zero_point_at(node, 3)}, 1);
}

MappedLayer map_qlinear_conv(const NodeView& node) {
  return convolution_layer(
      node,
      "conv_integer",
      {0, 3, 8, zero_point_at(node, 2), zero_point_at(node, 5), 1, 4, 6, zero_point_at(node, 7)},
      3);
}

MappedLayer map_matmul_integer(const NodeView& node) {
  return begin_layer(
      node, "matmul_integer", {0, 1, zero_point_at(node, 2), zero_point_at(node, 3)});
}

MappedLayer map_qlinear_matmul(const NodeView& node) {
  return begin_layer(
      node,
      "matmul_integer",
      {0, 3, zero_point_at(node, 2), zero_point_at(node, 5), 1, 4, 6, zero_point_at(node, 7)});
}

}  // namespace plumb::model
