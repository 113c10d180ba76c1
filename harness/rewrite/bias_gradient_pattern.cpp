// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/bias_gradient_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/rewrite/operand.hpp"
#include "harness/rewrite/value_uses.hpp"

namespace plumb::rewrite {
namespace {

/// Returns whether a layer is a product of two matrices, with nothing added or fused.
bool is_product(const model::Layer& layer) {
  return is_op(layer, "gemm") && layer.spec.outputs.size() == 1 && layer.spec.epilogue.empty() &&
         !layer.spec.has_input(2);
}

/// Returns whether a product sums over the rows of an operand, so that its columns are the columns
/// or rows of the result.
bool sums_over_rows(const model::Layer& product, std::size_t operand) {
  return operand == 0 ? product.spec.integer("trans_a") != 0 : product.spec.integer("trans_b") == 0;
}

/// Returns whether a layer adds up rows of `columns` numbers, over all other axes.
bool is_sum_of_rows(const model::Layer& layer, std::int64_t columns) {
  if (!is_fn(layer, "reduce", "sum")) {
    return false;
  }
  const std::vector<std::int64_t>& dims = layer.spec.inputs.front().value().dims;
  const std::vector<std::int64_t>& axes = layer.spec.integers("axes");
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool summed =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    const bool last = axis + 1 == dims.size();
    if (last ? summed || dims[axis] != columns : !summed && dims[axis] != 1) {
      return false;
    }
  }
  return !axes.empty();
}

class BiasGradientFinder {
 public:
  BiasGradientFinder(const model::Graph& graph, std::string_view rule)
      : graph_(graph), uses_(graph), rule_(rule) {}

  void find(model::LayerId product, std::size_t operand, std::vector<Match>& matches) const {
    const model::Layer& layer = graph_.layers[product];
    const std::int64_t columns = layer.spec.inputs[operand].value().dims.back();
    std::optional<model::ValueId> rows = layer.inputs[operand];
    while (rows) {
      for (const model::LayerId reader : uses_.readers(*rows)) {
        if (is_sum_of_rows(graph_.layers[reader], columns)) {
          join(product, reader, operand, matches);
        }
      }
      rows = before_view(*rows);
    }
  }

 private:
  /// Returns what a value was before a view gave it other extents.
  [[nodiscard]] std::optional<model::ValueId> before_view(model::ValueId value) const {
    const std::optional<model::LayerId> producer = graph_.values[value].producer;
    return producer && graph_.layers[*producer].role == model::Layer::Role::kView
               ? graph_.layers[*producer].inputs.front()
               : std::nullopt;
  }

  void join(model::LayerId product,
            model::LayerId sum,
            std::size_t operand,
            std::vector<Match>& matches) const {
    const model::Layer& gemm = graph_.layers[product];
    const model::Layer& bias = graph_.layers[sum];
    const std::array layers{product, sum};
    const std::array results{gemm.outputs.front(), bias.outputs.front()};
    if (!uses_.closed(layers, results)) {
      return;
    }
    Replacement joined{gemm.spec, gemm.inputs, results[0], {}, {results[1]}};
    joined.spec.op = "gemm_bias_gradient";
    joined.spec.attributes.erase("beta");
    joined.spec.attributes["of"] = std::string(operand == 0 ? "a" : "b");
    joined.spec.inputs.resize(2);
    joined.inputs.resize(2);
    model::TensorType sums = bias.spec.outputs.front();
    sums.dims = {model::element_count(sums)};
    joined.spec.outputs.push_back(std::move(sums));
    matches.push_back(make_match(rule_, {product, sum}, std::move(joined)));
  }

  const model::Graph& graph_;
  ValueUses uses_;
  std::string_view rule_;
};

}  // namespace

std::vector<Match> find_bias_gradients(const model::Graph& graph, std::string_view rule) {
  const BiasGradientFinder finder(graph, rule);
  std::vector<Match> found;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    for (const std::size_t operand : {0U, 1U}) {
      if (is_product(graph.layers[id]) && sums_over_rows(graph.layers[id], operand)) {
        finder.find(id, operand, found);
      }
    }
  }
  return found;
}

}  // namespace plumb::rewrite
