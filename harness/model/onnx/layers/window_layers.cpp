// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {
namespace {

/// Sliding window of a convolution or pool, with every default explicit and `auto_pad` resolved.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;  ///< all begins, then all ends
};

using Integers = std::vector<std::int64_t>;

Integers list_or(const NodeView& node,
                 std::string_view name,
                 std::size_t size,
                 std::int64_t value) {
  std::optional<Integers> found = node.integers(name);
  if (!found || found->empty()) {
    return Integers(size, value);
  }
  if (found->size() != size) {
    throw Unsupported(
        fmt::format("attribute {} has {} elements where {} are needed", name, found->size(), size));
  }
  return *found;
}

void check_range(const Integers& list, std::string_view name, std::int64_t least) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const std::int64_t element : list) {
    if (element < least || element > kMost) {
      throw Unsupported(fmt::format("attribute {} has an element of {}", name, element));
    }
  }
}

/// Returns the extents behind batch and channels. Throws Unsupported below rank 3.
[[nodiscard]] std::vector<std::int64_t> spatial_dims(const TensorType& type) {
  if (type.dims.size() < 3) {
    throw Unsupported(fmt::format("rank {} where batch, channels and a spatial extent are needed",
                                  type.dims.size()));
  }
  return {type.dims.begin() + 2, type.dims.end()};
}

/// Splits the total padding of an axis into begin and end. An odd element goes to the end, or to
/// the begin if `lower`.
void split_padding(Integers& pads, std::size_t axis, std::int64_t total, bool lower) {
  const std::int64_t small = total / 2;
  pads[axis] = lower ? total - small : small;
  pads[axis + pads.size() / 2] = lower ? small : total - small;
}

/// Reads the window of a node over the spatial extents of input 0, with kernel `kernel`.
[[nodiscard]] Window read_window(const NodeView& node, Integers kernel) {
  const Integers input = spatial_dims(node.input_type(0));
  const std::size_t rank = input.size();
  if (kernel.size() != rank) {
    throw Unsupported(
        fmt::format("a kernel of rank {} over {} spatial extents", kernel.size(), rank));
  }
  Window window;
  window.kernel = std::move(kernel);
  window.strides = list_or(node, "strides", rank, 1);
  window.dilations = list_or(node, "dilations", rank, 1);
  check_range(window.kernel, "kernel_shape", 1);
  check_range(window.strides, "strides", 1);
  check_range(window.dilations, "dilations", 1);
  const std::string auto_pad = node.word("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET" || auto_pad.empty()) {
    window.pads = list_or(node, "pads", 2 * rank, 0);
  } else {
    window.pads.assign(2 * rank, 0);
  }
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const std::int64_t outputs = (input[i] + window.strides[i] - 1) / window.strides[i];
      const std::int64_t total = (outputs - 1) * window.strides[i] + extent - input[i];
      split_padding(window.pads, i, std::max<std::int64_t>(total, 0), auto_pad == "SAME_LOWER");
    }
  } else if (auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    throw Unsupported(fmt::format("auto_pad '{}'", auto_pad));
  }
  check_range(window.pads, "pads", 0);
  return window;
}

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

namespace {

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
