// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"

namespace onnx {

class GraphProto;
class ModelProto;
class TensorProto;
class ValueInfoProto;

}  // namespace onnx

namespace plumb::onnxruntime {

/// Names of values; an empty one is an optional operand or output left out.
using Names = std::vector<std::string>;

/// Value of a node's attribute.
using NodeValue = std::variant<std::int64_t,
                               double,
                               std::string,
                               std::vector<std::int64_t>,
                               std::vector<double>,
                               std::vector<std::string>>;
/// Attributes of a node by name.
using NodeAttributes = std::vector<std::pair<std::string, NodeValue>>;

/// Returns ONNX's number of an element type. Throws Error{kUser} for strings.
[[nodiscard]] std::int32_t onnx_type(model::DataType type);

/// Describes an input or output of a model, or an initializer before it has numbers.
void describe(onnx::ValueInfoProto& value, const std::string& name, const model::TensorType& type);
void describe(onnx::TensorProto& tensor, const std::string& name, const model::TensorType& type);

/// Writer of the nodes of one ONNX model.
class NodeWriter {
 public:
  /// A layer on its way to nodes: its operands and outputs have names.
  struct Layer {
    const model::LayerSpec& spec;
    Names inputs;   ///< one for each of spec.inputs
    Names outputs;  ///< one for each of spec.outputs
  };

  NodeWriter();
  ~NodeWriter();
  NodeWriter(const NodeWriter&) = delete;
  NodeWriter& operator=(const NodeWriter&) = delete;
  NodeWriter(NodeWriter&&) = delete;
  NodeWriter& operator=(NodeWriter&&) = delete;

  /// Sets what the nodes that follow are called.
  void begin(const std::string& name);
  /// Adds a node. Operands and outputs left out at the end are not written.
  void add(std::string_view op, Names inputs, Names outputs, const NodeAttributes& attributes = {});
  /// Adds a node with one output of a new name, which it returns.
  [[nodiscard]] std::string add_value(std::string_view op,
                                      Names inputs,
                                      const NodeAttributes& attributes = {});
  /// Adds a list of integers as a constant and returns its name.
  [[nodiscard]] std::string integers(const std::vector<std::int64_t>& values);
  /// Adds a list of f32 numbers as a constant and returns its name.
  [[nodiscard]] std::string reals(const std::vector<double>& values);
  /// Adds a single number as a constant and returns its name.
  [[nodiscard]] std::string number(model::DataType type, double value);
  /// Adds a constant of zeros and returns its name.
  [[nodiscard]] std::string zeros(const model::TensorType& type);
  /// Raises the version of the operators to what a node needs.
  void require_opset(std::int64_t opset);

  void add_input(const std::string& name, const model::TensorType& type);
  void add_output(const std::string& name, const model::TensorType& type);
  /// Returns the model's bytes.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::string add_constant(const model::Tensor& content);

  std::unique_ptr<onnx::ModelProto> model_;
  std::int64_t opset_;
  std::string name_;
  std::size_t nodes_ = 0;  // that are called so
  std::size_t names_ = 0;  // made so far
};

/// Function that writes the nodes of one operator of the layer-key vocabulary, without fused steps.
/// Throws Error{kUser} where ONNX has no such operator.
using NodeRule = void (*)(const NodeWriter::Layer& layer, NodeWriter& writer);

// By file.
void write_eltwise(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_binary(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_softmax(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_reduce(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_arg_reduce(const NodeWriter::Layer& layer, NodeWriter& writer);

void write_conv(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_conv_transpose(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_pool(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_normalization(const NodeWriter::Layer& layer, NodeWriter& writer);

void write_concat(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_split(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_slice(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_pad(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_transpose(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_view(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_gather(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_resize(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_cast(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_expand(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_tile(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_depth_to_space(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_space_to_depth(const NodeWriter::Layer& layer, NodeWriter& writer);

void write_gemm(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_attention(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_matmul_integer(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_conv_integer(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_quantize(const NodeWriter::Layer& layer, NodeWriter& writer);
void write_recurrent(const NodeWriter::Layer& layer, NodeWriter& writer);

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
[[nodiscard]] std::string operand(const NodeWriter::Layer& layer, std::size_t index);

}  // namespace plumb::onnxruntime
