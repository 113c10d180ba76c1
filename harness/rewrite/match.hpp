// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// The one layer that replaces several layers.
struct Replacement {
  model::LayerSpec spec;  ///< BatchNorm and scales are folded into weights and bias
  std::vector<std::optional<model::ValueId>>
      inputs;  ///< one to one with spec.inputs; with `folded`, operands 1 and 2 before it
  model::ValueId result = 0;
  std::vector<model::LayerId> folded;  ///< what scales and shifts the channels of weights (operand
                                       ///< 1, along its first axis) and bias (2), in order
  std::vector<model::ValueId> further_results{};  ///< of a layer with several, after `result`
};

/// Set of layers of a graph that one layer with another key may replace.
struct Match : Replacement {
  std::string_view rewrite;  ///< name of the rule, e.g. "conv_bn_activation"
  std::vector<model::LayerId>
      layers;  ///< all that it replaces, ascending; values in between have no other reader
  model::LayerKey key;
  model::LayerCost cost;
};

/// Makes a match of a rule. Sorts the layers, writes the key and computes the cost of the spec.
[[nodiscard]] Match make_match(std::string_view rule,
                               std::vector<model::LayerId> layers,
                               Replacement replacement);

/// Returns whether a layer is computed and has the given operator.
[[nodiscard]] bool is_op(const model::Layer& layer, std::string_view op);
/// Returns whether a layer is computed and has the given operator and `fn` attribute.
[[nodiscard]] bool is_fn(const model::Layer& layer, std::string_view op, std::string_view fn);

/// Returns the position (0 or 1) of the operand beside `value` of a `binary` layer with function
/// `fn`. Empty if the layer is anything else, or reads `value` twice or never.
[[nodiscard]] std::optional<std::size_t> other_operand(const model::Layer& layer,
                                                       std::string_view fn,
                                                       model::ValueId value);

/// Returns whether an operand is a constant of one element with the value `expected`, within 0.1%.
/// A model without weights may not hold the value. It is then not compared, and the pattern around
/// the operand decides.
[[nodiscard]] bool is_scalar(const model::Graph& graph,
                             const model::Layer& layer,
                             std::size_t operand,
                             double expected);

/// Returns whether a layer is binary `fn` of `value` and a constant near `expected`. Sub, div and
/// pow need `value` on the left.
[[nodiscard]] bool is_with_scalar(const model::Graph& graph,
                                  const model::Layer& layer,
                                  std::string_view fn,
                                  model::ValueId value,
                                  double expected);

/// Readers of each value of a graph. It refers to the graph, which must outlive it.
class ValueUses {
 public:
  explicit ValueUses(const model::Graph& graph);

  /// Returns the layers that read a value, once for every operand that does.
  [[nodiscard]] std::span<const model::LayerId> readers(model::ValueId value) const;
  /// Returns the reader of a value that is read exactly once and is not an output of the model.
  [[nodiscard]] std::optional<model::LayerId> only_reader(model::ValueId value) const;
  /// Returns whether one layer that yields only `results` can replace `layers`, in the place of the
  /// last of them. No other value that they make may be read outside, or be an output of the model.
  /// No layer outside that stands before that place may read a result, but for views.
  [[nodiscard]] bool closed(std::span<const model::LayerId> layers,
                            std::span<const model::ValueId> results) const;

 private:
  [[nodiscard]] bool read_before(model::ValueId value,
                                 model::LayerId place,
                                 std::span<const model::LayerId> inside) const;

  const model::Graph* graph_;
  std::vector<std::size_t> first_;  ///< of readers_, by value; one more at the end
  std::vector<model::LayerId> readers_;
  std::vector<bool> is_output_;
};

/// Fusions of a step of training that one mode switches on, without all others.
struct FusionFamily {
  std::string_view name;       ///< the mode's word
  std::string_view rules;      ///< rows of the table of rewrites: "matmul_add|bias_gradient"
  std::string_view functions;  ///< that may be fused behind a layer: "add|relu"

  /// Returns whether all that a match of the rules fuses behind its layer is among the functions.
  [[nodiscard]] bool contains(const Match& match) const;
};

/// Returns all families. A new one is one row, one mode of execution and one what-if.
[[nodiscard]] std::span<const FusionFamily> fusion_families();

/// Returns the family of a name. Throws Error{kInternal} if there is none.
[[nodiscard]] const FusionFamily& find_fusion_family(std::string_view name);

}  // namespace plumb::rewrite
