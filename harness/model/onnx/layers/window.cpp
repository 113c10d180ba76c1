// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/layers/window.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::model {
namespace {

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

}  // namespace

std::vector<std::int64_t> spatial_dims(const TensorType& type) {
  if (type.dims.size() < 3) {
    throw Unsupported(fmt::format("rank {} where batch, channels and a spatial extent are needed",
                                  type.dims.size()));
  }
  return {type.dims.begin() + 2, type.dims.end()};
}

void split_padding(Integers& pads, std::size_t axis, std::int64_t total, bool lower) {
  const std::int64_t small = total / 2;
  pads[axis] = lower ? total - small : small;
  pads[axis + pads.size() / 2] = lower ? small : total - small;
}

Window read_window(const NodeView& node, Integers kernel) {
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

}  // namespace plumb::model
