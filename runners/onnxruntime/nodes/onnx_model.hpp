// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::onnxruntime {

/// ONNX model whose weights are not in it yet.
struct OnnxModel {
  /// Operand or output of a model by its name. An empty name: an optional operand left out.
  struct Value {
    std::string name;
    model::TensorType type;  ///< `constant`: a weight
  };

  std::string bytes;            ///< without the weights
  std::vector<Value> operands;  ///< weights and inputs, in the order of bind()
  std::vector<Value> outputs;

  /// Returns the sizes of its weights together.
  [[nodiscard]] Bytes weight_bytes() const;
  /// Returns the whole model. `values` are all its operands. Throws Error{kUser} if it is larger
  /// than the 2 GiB that a message can have.
  [[nodiscard]] std::string with_weights(std::span<const model::Tensor> values) const;
  /// Returns a model of the same nodes whose weights are inputs.
  [[nodiscard]] std::string with_weights_as_inputs() const;
};

/// Returns the bytes of one model of several that differ in the extents of their inputs and outputs
/// alone, which are open where they differ. Absent: they differ in more.
[[nodiscard]] std::optional<std::string> join_shapes(std::span<const OnnxModel> models);

/// Writes a layer as a model of one node, and of one more for each fused step. Throws Error{kUser}
/// where ONNX has no such operator.
[[nodiscard]] OnnxModel write_layer(const model::LayerSpec& spec);

/// Writes a whole model, node by node. Folded layers are weights. `values` are the values of its
/// operands. Throws Error{kUser} as write_layer() does.
[[nodiscard]] OnnxModel write_model(const model::Graph& graph, std::vector<model::ValueId>& values);

}  // namespace plumb::onnxruntime
