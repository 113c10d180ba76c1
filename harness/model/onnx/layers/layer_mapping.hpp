// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Layer that a node computes, in the terms of docs/reference/layer-keys.md.
struct MappedLayer {
  /// Layer whose values are not numbered yet.
  struct Described {
    Layer layer;  ///< without inputs and outputs
    std::vector<std::size_t>
        inputs;  ///< the node's inputs in the layer's order: operands first, then the others
  };

  LayerSpec spec;
  std::vector<std::size_t> operands;  ///< for each of spec.inputs, the node's input
};

/// Maps a node of the default domain to a layer. Throws Unsupported with the reason if it cannot.
[[nodiscard]] MappedLayer map_node(const NodeView& node);

/// Returns whether an operator of the default domain has a mapping.
[[nodiscard]] bool is_mapped_operator(std::string_view op);

/// Begins a mapping: operator, operands and outputs by the node's index, and accumulation type.
[[nodiscard]] MappedLayer begin_layer(const NodeView& node,
                                      std::string op,
                                      std::vector<std::size_t> operands,
                                      const std::vector<std::size_t>& outputs = {0});

/// Makes the mapping of a node that only renames its first input's bytes.
[[nodiscard]] MappedLayer view_layer(const NodeView& node);

/// Makes the mapping of a convolution with these operands. All positions, that of the weights
/// included, are the node's.
[[nodiscard]] MappedLayer convolution_layer(const NodeView& node,
                                            std::string op,
                                            std::vector<std::size_t> operands,
                                            std::size_t weights);

// One function for each operator family, in the file of that name.
[[nodiscard]] MappedLayer map_conv(const NodeView& node);
[[nodiscard]] MappedLayer map_conv_transpose(const NodeView& node);
[[nodiscard]] MappedLayer map_gemm(const NodeView& node);
[[nodiscard]] MappedLayer map_matmul(const NodeView& node);
[[nodiscard]] MappedLayer map_batch_norm(const NodeView& node);
[[nodiscard]] MappedLayer map_layer_norm(const NodeView& node);
[[nodiscard]] MappedLayer map_rms_norm(const NodeView& node);
[[nodiscard]] MappedLayer map_instance_norm(const NodeView& node);
[[nodiscard]] MappedLayer map_group_norm(const NodeView& node);
[[nodiscard]] MappedLayer map_lrn(const NodeView& node);
[[nodiscard]] MappedLayer map_softmax(const NodeView& node);
[[nodiscard]] MappedLayer map_pool(const NodeView& node);
[[nodiscard]] MappedLayer map_global_pool(const NodeView& node);
[[nodiscard]] MappedLayer map_activation(const NodeView& node);
[[nodiscard]] MappedLayer map_image_scaler(const NodeView& node);
[[nodiscard]] MappedLayer map_clip(const NodeView& node);
[[nodiscard]] MappedLayer map_prelu(const NodeView& node);
[[nodiscard]] MappedLayer map_binary(const NodeView& node);
[[nodiscard]] MappedLayer map_variadic(const NodeView& node);
[[nodiscard]] MappedLayer map_where(const NodeView& node);
[[nodiscard]] MappedLayer map_cast(const NodeView& node);
[[nodiscard]] MappedLayer map_view(const NodeView& node);
[[nodiscard]] MappedLayer map_dropout(const NodeView& node);
[[nodiscard]] MappedLayer map_concat(const NodeView& node);
[[nodiscard]] MappedLayer map_split(const NodeView& node);
[[nodiscard]] MappedLayer map_slice(const NodeView& node);
[[nodiscard]] MappedLayer map_pad(const NodeView& node);
[[nodiscard]] MappedLayer map_transpose(const NodeView& node);
[[nodiscard]] MappedLayer map_gather(const NodeView& node);
[[nodiscard]] MappedLayer map_expand(const NodeView& node);
[[nodiscard]] MappedLayer map_tile(const NodeView& node);
[[nodiscard]] MappedLayer map_depth_to_space(const NodeView& node);
[[nodiscard]] MappedLayer map_space_to_depth(const NodeView& node);
[[nodiscard]] MappedLayer map_resize(const NodeView& node);
[[nodiscard]] MappedLayer map_reduce(const NodeView& node);
[[nodiscard]] MappedLayer map_arg_reduce(const NodeView& node);
[[nodiscard]] MappedLayer map_attention(const NodeView& node);
[[nodiscard]] MappedLayer map_matmul_integer(const NodeView& node);
[[nodiscard]] MappedLayer map_qlinear_matmul(const NodeView& node);
[[nodiscard]] MappedLayer map_conv_integer(const NodeView& node);
[[nodiscard]] MappedLayer map_qlinear_conv(const NodeView& node);
[[nodiscard]] MappedLayer map_quantize(const NodeView& node);
[[nodiscard]] MappedLayer map_dequantize(const NodeView& node);
[[nodiscard]] MappedLayer map_rnn(const NodeView& node);
[[nodiscard]] MappedLayer map_gru(const NodeView& node);
[[nodiscard]] MappedLayer map_lstm(const NodeView& node);

/// Describes a node that depends on the model's inputs: its key and cost, or why it has none.
/// `problem` is what shape inference found wrong with it. Empty if nothing.
[[nodiscard]] MappedLayer::Described describe_node(const NodeView& node,
                                                   const std::string& problem);

/// Describes a node that acts on weights only: how to compute it, if there is such a layer.
[[nodiscard]] MappedLayer::Described describe_folded_node(const NodeView& node,
                                                          const std::string& problem);

}  // namespace plumb::model
