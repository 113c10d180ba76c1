// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/model/key/attention_shape.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Builder of the graph of attention or its gradient, operation by operation. A function that makes
/// a tensor returns its index.
class AttentionBuilder {
 public:
  /// Extents of an intermediate tensor: one number per query and key, or one per query.
  enum Extent { kScores, kRows };

  /// Takes the layer's extents and the type of queries, keys and values.
  AttentionBuilder(const model::AttentionShape& shape, abi::Type type) : s_(shape), type_(type) {}

  [[nodiscard]] const model::AttentionShape& shape() const { return s_; }
  [[nodiscard]] abi::Type type() const { return type_; }
  [[nodiscard]] TensorGraph& graph() { return graph_; }

  /// Adds an operand or, without an index, a result. It lies as the layer has it: heads apart or
  /// together.
  std::size_t operand(std::optional<std::size_t> index,
                      std::int64_t heads,
                      std::int64_t length,
                      std::int64_t numbers);
  /// Swaps the last two axes of a tensor.
  void turn(std::size_t tensor);
  std::size_t number(double value);
  /// Adds a virtual tensor, which is never in memory.
  std::size_t between(Extent extent, abi::Type type = abi::Type::kFloat);

  std::size_t product(std::size_t left, std::size_t right, std::size_t output);
  PointwiseOperation& append(abi::PointwiseMode mode, std::size_t input, std::size_t output);
  std::size_t pointwise(abi::PointwiseMode mode,
                        std::size_t input,
                        std::optional<std::size_t> other,
                        Extent extent = kScores);
  std::size_t reduced(abi::Reduction reduction, std::size_t input, std::size_t output);
  /// Replaces the score of each key that comes after the query by the lowest number.
  std::size_t causal(std::size_t scores);

 private:
  model::AttentionShape s_;
  abi::Type type_;
  TensorGraph graph_;
};

/// Returns the one type of a layer's tensors: f16 or bf16, as cuDNN's attention takes them. Throws
/// Unsupported for other types, and for tensors of several types.
[[nodiscard]] abi::Type attention_type(const model::LayerSpec& spec,
                                       std::size_t operands,
                                       std::size_t outputs);

}  // namespace plumb::cuda
