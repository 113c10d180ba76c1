// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

void refuse_windows(const NodeView& node) {
  for (const char* name : {"left_window_size", "right_window_size"}) {
    if (node.integer(name, -1) != -1) {
      throw Unsupported(fmt::format("{} {}", name, node.integer(name, -1)));
    }
  }
}

/// Reads a number of heads. It is an attribute where heads are not apart, else an extent.
std::int64_t read_heads(const NodeView& node, std::size_t operand, const char* name) {
  const std::vector<std::int64_t>& dims = node.dims(operand);
  return dims.size() == 4 ? dims[1] : node.integer(name, 0);
}

}  // namespace

MappedLayer map_attention(const NodeView& node) {
  constexpr std::int64_t kFloat = 1;
  refuse_windows(node);
  if (node.has_input(6)) {
    throw Unsupported("nonpad_kv_seqlen: the number of valid keys is not known before the run");
  }
  if (node.has_output(3)) {
    throw Unsupported("the output of the products of queries and keys is used");
  }
  if (node.integer("softmax_precision", kFloat) != kFloat) {
    throw Unsupported(
        fmt::format("softmax_precision {}", node.integer("softmax_precision", kFloat)));
  }
  std::vector<std::size_t> outputs{0};
  std::string letters = "y";
  for (const std::size_t index : {std::size_t{1}, std::size_t{2}}) {
    if (node.has_output(index)) {
      outputs.push_back(index);
      letters += index == 1 ? 'k' : 'v';
    }
  }
  MappedLayer layer = begin_layer(node, "attention", {0, 1, 2, 3, 4, 5}, outputs);
  const std::int64_t q_heads = read_heads(node, 0, "q_num_heads");
  const std::int64_t head = node.dims(0).empty() ? 0 : node.dims(0).back();
  const std::int64_t numbers = node.dims(0).size() == 4 || q_heads <= 0 ? head : head / q_heads;
  const double natural = 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, numbers)));
  const double scale = node.real("scale", 0.0);
  layer.spec.attributes["causal"] = std::int64_t{node.integer("is_causal", 0) != 0};
  layer.spec.attributes["kv_heads"] = read_heads(node, 1, "kv_num_heads");
  layer.spec.attributes["outputs"] = letters;
  layer.spec.attributes["q_heads"] = q_heads;
  layer.spec.attributes["scale"] =
      node.attribute("scale") != nullptr ? scale : widen(static_cast<float>(natural));
  layer.spec.attributes["softcap"] = node.real("softcap", 0.0);
  return layer;
}

}  // namespace plumb::model
