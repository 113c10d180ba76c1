// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/layers/window.hpp"

namespace plumb::model {
namespace {

using Integers = std::vector<std::int64_t>;

/// Returns whether rounding up adds a window along any axis.
bool ceil_matters(const Integers& input, const Window& window) {
  const std::size_t rank = input.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t room = input[i] + window.pads[i] + window.pads[i + rank] - extent;
    if (room % window.strides[i] != 0) {
      return true;
    }
  }
  return false;
}

MappedLayer pool_layer(const NodeView& node, const std::string& op, Window window) {
  const Integers input = spatial_dims(node.input_type(0));
  const Integers output = spatial_dims(node.output_type(0));
  const bool ceil = node.integer("ceil_mode", 0) != 0 && ceil_matters(input, window);
  for (std::size_t i = 0; i < std::min(output.size(), window.strides.size()); ++i) {
    if (output[i] == 1 && !ceil) {
      window.strides[i] =
          1;  // a single window goes nowhere: a pool over everything is a global pool
    }
  }
  MappedLayer layer = begin_layer(node, op, {0});
  if (op == "average_pool") {
    const bool padded =
        std::any_of(window.pads.begin(), window.pads.end(), [](std::int64_t p) { return p != 0; });
    layer.spec.attributes["count_include_pad"] =
        std::int64_t{padded && node.integer("count_include_pad", 0) != 0};
  } else if (op == "lp_pool") {
    layer.spec.attributes["p"] = node.integer("p", 2);
  }
  layer.spec.attributes["ceil_mode"] = std::int64_t{ceil};
  layer.spec.attributes["dilations"] = std::move(window.dilations);
  layer.spec.attributes["kernel"] = std::move(window.kernel);
  layer.spec.attributes["pads"] = std::move(window.pads);
  layer.spec.attributes["strides"] = std::move(window.strides);
  return layer;
}

std::string pool_op(std::string_view onnx_op) {
  if (onnx_op.ends_with("MaxPool")) {
    return "max_pool";
  }
  return onnx_op.ends_with("LpPool") ? "lp_pool" : "average_pool";
}

}  // namespace

MappedLayer map_pool(const NodeView& node) {
  if (node.has_output(1)) {
    throw Unsupported(
        fmt::format("the indices of the maxima ('{}') are used", node.output(1)->name));
  }
  return pool_layer(node,
                    pool_op(node.op()),
                    read_window(node, node.integers("kernel_shape").value_or(Integers{})));
}

MappedLayer map_global_pool(const NodeView& node) {
  const Integers input = spatial_dims(node.input_type(0));
  Window window;
  window.kernel = input;
  window.strides.assign(input.size(), 1);
  window.dilations.assign(input.size(), 1);
  window.pads.assign(2 * input.size(), 0);
  return pool_layer(node, pool_op(node.op()), std::move(window));
}

}  // namespace plumb::model
