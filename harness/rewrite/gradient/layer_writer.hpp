// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Adds layers to the end of a graph. Types and keys of the layers follow from their operands.
class LayerWriter {
 public:
  /// Gradient of one layer while it is written: the gradients of its results are known, those of
  /// its operands are asked for.
  struct Gradient {
    const model::Layer& layer;                           ///< a copy: the graph grows
    std::vector<std::optional<model::ValueId>> results;  ///< absent: nothing depends on the result
    std::vector<bool> wanted;                            ///< by operand
    LayerWriter& writer;
    std::vector<std::optional<model::ValueId>> operands;  ///< the answer, by operand

    [[nodiscard]] model::ValueId dy() const { return results.front().value(); }
    [[nodiscard]] model::ValueId input(std::size_t index) const {
      return layer.inputs.at(index).value();
    }
    [[nodiscard]] model::ValueId output() const { return layer.outputs.front(); }
    [[nodiscard]] bool wants(std::size_t index) const {
      return index < wanted.size() && wanted[index];
    }
    /// Gives an operand's gradient. It is summed over the axes along which the operand was
    /// broadcast.
    void give(std::size_t index, model::ValueId gradient) {
      operands.at(index) = writer.unbroadcast(gradient, writer.dims(input(index)));
    }
  };

  using Dims = std::vector<std::int64_t>;
  using Operands = std::vector<std::optional<model::ValueId>>;
  using Attributes = std::map<std::string, model::Attribute>;

  /// Refers to the graph, which must outlive it.
  explicit LayerWriter(model::Graph& graph) : graph_(&graph) {}

  /// Sets the first words of the next layers' names.
  void name(std::string text) { name_ = std::move(text); }

  /// Returns the extents of a value: a copy, since the values move when the graph grows.
  [[nodiscard]] Dims dims(model::ValueId value) const;
  [[nodiscard]] model::DataType type(model::ValueId value) const;

  /// Adds a layer whose results have the type of its first operand, or the one given. Throws
  /// Error{kUser} if no key can have its operands.
  std::vector<model::ValueId> add(const std::string& op,
                                  const Operands& operands,
                                  const std::vector<Dims>& results,
                                  Attributes attributes,
                                  std::optional<model::DataType> type = {});
  /// Adds a layer with one result.
  model::ValueId layer(const std::string& op,
                       const Operands& operands,
                       const Dims& result,
                       Attributes attributes = {},
                       std::optional<model::DataType> type = {});

  model::ValueId eltwise(std::string_view fn,
                         model::ValueId x,
                         std::vector<double> parameters = {});
  /// Multiplies by a number.
  model::ValueId scaled(model::ValueId x, double factor);
  /// Combines two values, which are broadcast as numpy does.
  model::ValueId binary(std::string_view fn, model::ValueId a, model::ValueId b);
  /// Adds values of equal extents, at least one.
  model::ValueId sum(const std::vector<model::ValueId>& values);
  /// Reduces over axes, which stay with the extent 1.
  model::ValueId reduce(std::string_view fn, model::ValueId x, const Dims& axes);
  /// Gives a value other extents of the same number of elements. The same extents add no layer.
  model::ValueId view(model::ValueId x, const Dims& to);
  model::ValueId expand(model::ValueId x, const Dims& to);
  model::ValueId transpose(model::ValueId x, const Dims& permutation);
  /// Swaps the last two axes.
  model::ValueId swap_last(model::ValueId x);
  /// Takes the part of the extents `to` that begins at `starts`.
  model::ValueId slice(model::ValueId x, const Dims& starts, const Dims& to);
  /// Puts a number around a value.
  model::ValueId pad(model::ValueId x, const Dims& before, const Dims& to, double number = 0.0);
  /// Makes a constant of one element.
  model::ValueId constant(model::DataType type, double number);
  /// Returns what a causal layer adds to its scores, a constant of [queries, keys]: minus infinity
  /// for the keys behind each query, else 0. Layers of one size share it.
  model::ValueId causal_mask(model::DataType type, std::int64_t queries, std::int64_t keys);
  /// Makes a constant of a constant's extents and type, all of whose elements are a number.
  model::ValueId constant_like(model::ValueId constant, double number);
  /// Makes constants of what the layers from this one on compute of constants alone.
  void fold_from(model::LayerId first);
  /// Converts the element type.
  model::ValueId cast(model::ValueId x, model::DataType to);
  /// Computes alpha · a · b of two matrices, either of them transposed if asked.
  model::ValueId product(
      model::ValueId a, model::ValueId b, bool transpose_a, bool transpose_b, double alpha = 1.0);
  /// Sums over the axes along which a value of the extents `to` was broadcast.
  model::ValueId unbroadcast(model::ValueId x, const Dims& to);

 private:
  using MaskShape = std::tuple<model::DataType, std::int64_t, std::int64_t>;

  model::Graph* graph_;
  std::string name_;
  std::map<MaskShape, model::ValueId> causal_masks_;
};

/// Writes the layers that compute a layer's gradients. Returns why there are none, or nothing.
using GradientRule = std::optional<std::string> (*)(LayerWriter::Gradient&);

/// Finds the rule of an operator. Null if its gradient is not known.
[[nodiscard]] GradientRule find_gradient_rule(std::string_view op);

// product_gradients.cpp
std::optional<std::string> convolution_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> transposed_convolution_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> gemm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> matmul_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> attention_gradient(LayerWriter::Gradient& gradient);

// element_gradients.cpp
std::optional<std::string> eltwise_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> prelu_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> binary_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> sum_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> extremum_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> where_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> cast_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> view_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> concat_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> split_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> slice_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> pad_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> transpose_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> expand_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> gather_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> tile_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> resize_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> depth_to_space_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> space_to_depth_gradient(LayerWriter::Gradient& gradient);

// normalization_gradients.cpp
std::optional<std::string> softmax_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> batch_norm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> batch_norm_training_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> layer_norm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> instance_norm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> group_norm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> rms_norm_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> lrn_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> max_pool_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> average_pool_gradient(LayerWriter::Gradient& gradient);
std::optional<std::string> reduce_gradient(LayerWriter::Gradient& gradient);

}  // namespace plumb::rewrite
