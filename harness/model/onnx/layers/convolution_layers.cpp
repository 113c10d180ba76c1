// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/layers/window.hpp"

namespace plumb::model {
namespace {

using Integers = std::vector<std::int64_t>;

Window filter_window(const NodeView& node, std::size_t weights = 1) {
  const Integers kernel = spatial_dims(node.input_type(weights));
  const std::optional<Integers> stated = node.integers("kernel_shape");
  if (stated && !stated->empty() && *stated != kernel) {
    throw Unsupported("kernel_shape differs from the shape of the weights");
  }
  return read_window(node, kernel);
}

MappedLayer filter_layer(const NodeView& node,
                         std::string op,
                         const Window& window,
                         std::vector<std::size_t> operands = {0, 1, 2}) {
  MappedLayer layer = begin_layer(node, std::move(op), std::move(operands));
  layer.spec.attributes["dilations"] = window.dilations;
  layer.spec.attributes["group"] = node.integer("group", 1);
  layer.spec.attributes["pads"] = window.pads;
  layer.spec.attributes["strides"] = window.strides;
  return layer;
}

}  // namespace

MappedLayer convolution_layer(const NodeView& node,
                              std::string op,
                              std::vector<std::size_t> operands,
                              std::size_t weights) {
  return filter_layer(node, std::move(op), filter_window(node, weights), std::move(operands));
}

MappedLayer map_conv(const NodeView& node) {
  return filter_layer(node, "conv", filter_window(node));
}

MappedLayer map_conv_transpose(const NodeView& node) {
  Window window = filter_window(node);
  const Integers input = spatial_dims(node.input_type(0));
  Integers output_padding = node.integers("output_padding").value_or(Integers{});
  output_padding.resize(input.size(), 0);
  const std::string auto_pad = node.word("auto_pad", "NOTSET");
  const Integers output_shape = node.integers("output_shape").value_or(Integers{});
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (same || !output_shape.empty()) {
    const Integers output = spatial_dims(node.output_type(0));
    for (std::size_t i = 0; i < input.size(); ++i) {
      const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const std::int64_t total =
          (input[i] - 1) * window.strides[i] + output_padding[i] + extent - output[i];
      if (total < 0) {
        output_padding[i] -= total;  // the output reaches beyond the last window
      }
      split_padding(window.pads, i, std::max<std::int64_t>(total, 0), auto_pad != "SAME_UPPER");
    }
  }
  MappedLayer layer = filter_layer(node, "conv_transpose", window);
  layer.spec.attributes["output_padding"] = output_padding;
  return layer;
}

MappedLayer map_gemm(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "gemm", {0, 1, 2});
  layer.spec.attributes["alpha"] = node.real("alpha", 1.0);
  // Without C its factor has no effect. A default then gives equal work one key.
  layer.spec.attributes["beta"] = layer.spec.has_input(2) ? node.real("beta", 1.0) : 1.0;
  layer.spec.attributes["trans_a"] = std::int64_t{node.integer("transA", 0) != 0};
  layer.spec.attributes["trans_b"] = std::int64_t{node.integer("transB", 0) != 0};
  return layer;
}

MappedLayer map_matmul(const NodeView& node) {
  return begin_layer(node, "matmul", {0, 1});
}

}  // namespace plumb::model
