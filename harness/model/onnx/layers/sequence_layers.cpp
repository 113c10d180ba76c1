// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

/// Returns the activations of one direction, in lower case. Throws Unsupported if two directions
/// differ.
std::vector<std::string> read_activations(const NodeView& node,
                                          const std::vector<std::string>& defaults) {
  const onnx::AttributeProto* stated = node.attribute("activations");
  if (stated == nullptr || stated->strings_size() == 0) {
    return defaults;
  }
  std::vector<std::string> result;
  for (int i = 0; i < stated->strings_size(); ++i) {
    const std::string name = lower(stated->strings(i));
    const auto index = static_cast<std::size_t>(i);
    if (index < defaults.size()) {
      result.push_back(name);
    } else if (name != result[index % defaults.size()]) {
      throw Unsupported("activations that differ between the directions");
    }
  }
  return result;
}

void require_full_sequences(const NodeView& node, std::int64_t steps) {
  if (!node.has_input(4)) {
    return;
  }
  for (const std::int64_t length : node.known_integers(4)) {
    if (length != steps) {
      throw Unsupported(
          fmt::format("sequence_lens holds {}, not the {} steps of x", length, steps));
    }
  }
}

/// Begins a layer with the outputs that are present. Their letters are y for the sequence, and h
/// and c for the last states.
MappedLayer recurrent_layer(const NodeView& node,
                            std::string op,
                            std::vector<std::size_t> operands) {
  constexpr std::string_view kLetters = "yhc";
  std::vector<std::size_t> outputs;
  std::string letters;
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if (node.has_output(i)) {
      outputs.push_back(i);
      letters += kLetters[i];
    }
  }
  if (node.attribute("clip") != nullptr) {
    throw Unsupported(fmt::format("clip {}", node.real("clip", 0.0)));
  }
  const std::int64_t layout = node.integer("layout", 0);
  if (node.dims(0).size() == 3 && (layout == 0 || layout == 1)) {
    require_full_sequences(node, node.dims(0)[static_cast<std::size_t>(layout)]);
  }
  MappedLayer layer = begin_layer(node, std::move(op), std::move(operands), outputs);
  layer.spec.attributes["direction"] = lower(node.word("direction", "forward"));
  layer.spec.attributes["layout"] = layout;
  layer.spec.attributes["outputs"] = letters;
  return layer;
}

void require_default_activations(const NodeView& node, const std::vector<std::string>& defaults) {
  if (read_activations(node, defaults) != defaults) {
    throw Unsupported(fmt::format("{} with activations other than the default ones", node.op()));
  }
}

}  // namespace

MappedLayer map_rnn(const NodeView& node) {
  MappedLayer layer = recurrent_layer(node, "rnn", {0, 1, 2, 3, 5});
  layer.spec.attributes["fn"] = read_activations(node, {"tanh"})[0];
  return layer;
}

MappedLayer map_gru(const NodeView& node) {
  require_default_activations(node, {"sigmoid", "tanh"});
  MappedLayer layer = recurrent_layer(node, "gru", {0, 1, 2, 3, 5});
  layer.spec.attributes["linear_before_reset"] =
      std::int64_t{node.integer("linear_before_reset", 0) != 0};
  return layer;
}

MappedLayer map_lstm(const NodeView& node) {
  require_default_activations(node, {"sigmoid", "tanh", "tanh"});
  if (node.integer("input_forget", 0) != 0) {
    throw Unsupported("input_forget 1: input and forget gate coupled");
  }
  return recurrent_layer(node, "lstm", {0, 1, 2, 3, 5, 6, 7});
}

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
