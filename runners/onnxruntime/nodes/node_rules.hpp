// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {

/// A layer on its way to nodes: its operands and outputs have names.
struct NamedLayer {
  const model::LayerSpec& spec;
  Names inputs;   ///< one for each of spec.inputs
  Names outputs;  ///< one for each of spec.outputs
};

/// Function that writes the nodes of one operator of the layer-key vocabulary, without fused steps.
/// Throws Error{kUser} where ONNX has no such operator.
using NodeRule = void (*)(const NamedLayer& layer, NodeWriter& writer);

// By file.
void write_eltwise(const NamedLayer& layer, NodeWriter& writer);
void write_binary(const NamedLayer& layer, NodeWriter& writer);
void write_softmax(const NamedLayer& layer, NodeWriter& writer);
void write_reduce(const NamedLayer& layer, NodeWriter& writer);
void write_arg_reduce(const NamedLayer& layer, NodeWriter& writer);

void write_conv(const NamedLayer& layer, NodeWriter& writer);
void write_conv_transpose(const NamedLayer& layer, NodeWriter& writer);
void write_pool(const NamedLayer& layer, NodeWriter& writer);
void write_normalization(const NamedLayer& layer, NodeWriter& writer);

void write_concat(const NamedLayer& layer, NodeWriter& writer);
void write_split(const NamedLayer& layer, NodeWriter& writer);
void write_slice(const NamedLayer& layer, NodeWriter& writer);
void write_pad(const NamedLayer& layer, NodeWriter& writer);
void write_transpose(const NamedLayer& layer, NodeWriter& writer);
void write_view(const NamedLayer& layer, NodeWriter& writer);
void write_gather(const NamedLayer& layer, NodeWriter& writer);
void write_resize(const NamedLayer& layer, NodeWriter& writer);
void write_cast(const NamedLayer& layer, NodeWriter& writer);
void write_expand(const NamedLayer& layer, NodeWriter& writer);
void write_tile(const NamedLayer& layer, NodeWriter& writer);
void write_depth_to_space(const NamedLayer& layer, NodeWriter& writer);
void write_space_to_depth(const NamedLayer& layer, NodeWriter& writer);

void write_gemm(const NamedLayer& layer, NodeWriter& writer);
void write_attention(const NamedLayer& layer, NodeWriter& writer);
void write_matmul_integer(const NamedLayer& layer, NodeWriter& writer);
void write_conv_integer(const NamedLayer& layer, NodeWriter& writer);
void write_quantize(const NamedLayer& layer, NodeWriter& writer);
void write_recurrent(const NamedLayer& layer, NodeWriter& writer);

/// Applies an `eltwise` function to a value of a type, and gives the result a name.
void write_function(const std::string& fn,
                    std::span<const double> parameters,
                    model::DataType type,
                    const std::string& x,
                    const std::string& result,
                    NodeWriter& writer);
/// Applies a `binary` function to two values, and gives the result a name.
void write_binary_function(const std::string& fn,
                           const Names& operands,
                           const std::string& result,
                           NodeWriter& writer);
/// Returns the name of a layer's operand. Empty: it is left out.
[[nodiscard]] std::string operand(const NamedLayer& layer, std::size_t index);

}  // namespace plumb::onnxruntime
