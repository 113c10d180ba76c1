// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/layer_norm_pattern.hpp"

#include <algorithm>
#include <utility>

#include "harness/rewrite/operand.hpp"
#include "harness/rewrite/value_uses.hpp"

namespace plumb::rewrite {
namespace {

using Dims = std::vector<std::int64_t>;

/// Returns whether a layer is the mean over the last dimensions, keeping them as extents of one.
bool is_last_mean(const model::Layer& layer) {
  if (!is_fn(layer, "reduce", "mean") || layer.spec.integer("keepdims") != 1) {
    return false;
  }
  Dims axes = layer.spec.integers("axes");
  std::sort(axes.begin(), axes.end());
  auto expected = static_cast<std::int64_t>(layer.spec.inputs.front()->dims.size());
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (*axis != --expected) {
      return false;
    }
  }
  return !axes.empty();
}

class Finder {
 public:
  Finder(const model::Graph& graph, std::string_view rule)
      : graph_(graph), uses_(graph), rule_(rule) {}

  [[nodiscard]] std::optional<Match> from_mean(model::LayerId mean_id) const {
    const model::Layer& mean = layer(mean_id);
    if (!is_last_mean(mean) || !mean.inputs.front()) {
      return std::nullopt;
    }
    const model::ValueId x = *mean.inputs.front();
    std::vector<model::LayerId> layers{mean_id};
    std::vector<model::ValueId> centred;  // some exporters write x - mean twice
    for (const model::LayerId id : uses_.readers(out(mean_id))) {
      if (other_operand(layer(id), "sub", x) != 1) {
        return std::nullopt;
      }
      layers.push_back(id);
      centred.push_back(out(id));
    }
    for (const model::ValueId difference : centred) {
      for (const model::LayerId id : uses_.readers(difference)) {
        if (is_square(id, difference)) {
          layers.push_back(id);
          return from_square(x, mean, centred, std::move(layers));
        }
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const model::Layer& layer(model::LayerId id) const { return graph_.layers[id]; }
  [[nodiscard]] model::ValueId out(model::LayerId id) const { return layer(id).outputs.front(); }

  [[nodiscard]] bool is_square(model::LayerId id, model::ValueId value) const {
    const model::Layer& square = layer(id);
    return is_with_scalar(graph_, square, "pow", value, 2.0) ||
           (is_fn(square, "binary", "mul") && square.inputs[0] == value &&
            square.inputs[1] == value);
  }

  /// Matches the layers behind (x - mean)²: the variance, its root, the quotient, scale and bias.
  [[nodiscard]] std::optional<Match> from_square(model::ValueId x,
                                                 const model::Layer& mean,
                                                 const std::vector<model::ValueId>& centred,
                                                 std::vector<model::LayerId> layers) const {
    const std::optional<model::LayerId> variance = uses_.only_reader(out(layers.back()));
    if (!variance || !is_last_mean(layer(*variance)) ||
        layer(*variance).spec.attributes != mean.spec.attributes) {
      return std::nullopt;
    }
    const std::optional<model::LayerId> shifted = uses_.only_reader(out(*variance));
    const std::optional<std::size_t> epsilon_operand =
        shifted ? other_operand(layer(*shifted), "add", out(*variance)) : std::nullopt;
    if (!epsilon_operand || !is_constant_scalar(*shifted, *epsilon_operand)) {
      return std::nullopt;
    }
    const double epsilon =
        graph_.values[*layer(*shifted).inputs[*epsilon_operand]].scalar.value_or(1e-5);
    const std::optional<model::LayerId> root = uses_.only_reader(out(*shifted));
    if (!root || !is_fn(layer(*root), "eltwise", "sqrt")) {
      return std::nullopt;
    }
    const std::optional<model::LayerId> quotient = uses_.only_reader(out(*root));
    const std::optional<std::size_t> numerator =
        quotient ? other_operand(layer(*quotient), "div", out(*root)) : std::nullopt;
    if (numerator != 0U || !layer(*quotient).inputs[0] ||
        std::find(centred.begin(), centred.end(), *layer(*quotient).inputs[0]) == centred.end()) {
      return std::nullopt;
    }
    const Dims normalized = normalized_dims(mean);
    const std::optional<model::LayerId> scaled = affine_step(*quotient, "mul", normalized);
    const std::optional<model::LayerId> biased =
        scaled ? affine_step(*scaled, "add", normalized) : std::nullopt;
    if (!biased) {
      return std::nullopt;
    }
    layers.insert(layers.end(), {*variance, *shifted, *root, *quotient, *scaled, *biased});
    const model::ValueId result = out(*biased);
    if (!uses_.closed(layers, std::span(&result, 1))) {
      return std::nullopt;
    }
    const auto constant_of = [&](model::LayerId step, model::LayerId before, std::string_view fn) {
      return layer(step).inputs[other_operand(layer(step), fn, out(before)).value()];
    };
    return match_of(
        {x, constant_of(*scaled, *quotient, "mul"), constant_of(*biased, *scaled, "add")},
        normalized,
        epsilon,
        std::move(layers),
        result);
  }

  [[nodiscard]] bool is_constant_scalar(model::LayerId id, std::size_t operand) const {
    const model::TensorType& type = *layer(id).spec.inputs[operand];
    return type.constant && element_count(type) == 1 && layer(id).inputs[operand].has_value();
  }

  [[nodiscard]] static Dims normalized_dims(const model::Layer& mean) {
    const Dims& dims = mean.spec.inputs.front()->dims;
    const auto count = static_cast<std::ptrdiff_t>(mean.spec.integers("axes").size());
    return {dims.end() - count, dims.end()};
  }

  /// Returns the only reader of a layer's result if it is `fn` with a constant of the given
  /// extents.
  [[nodiscard]] std::optional<model::LayerId> affine_step(model::LayerId before,
                                                          std::string_view fn,
                                                          const Dims& normalized) const {
    const std::optional<model::LayerId> next = uses_.only_reader(out(before));
    const std::optional<std::size_t> other =
        next ? other_operand(layer(*next), fn, out(before)) : std::nullopt;
    if (!other) {
      return std::nullopt;
    }
    const model::TensorType& operand = *layer(*next).spec.inputs[*other];
    return operand.constant && operand.dims == normalized ? next : std::nullopt;
  }

  [[nodiscard]] Match match_of(std::vector<std::optional<model::ValueId>> inputs,
                               const Dims& normalized,
                               double epsilon,
                               std::vector<model::LayerId> layers,
                               model::ValueId result) const {
    const model::TensorType& type = graph_.values[inputs.front().value()].type;
    model::LayerSpec spec;
    spec.op = "layer_norm";
    spec.inputs = {type,
                   model::TensorType{type.dtype, normalized, true, {}},
                   model::TensorType{type.dtype, normalized, true, {}}};
    spec.outputs = {graph_.values[result].type};
    const std::size_t axis = type.dims.size() - normalized.size();
    spec.attributes = {{"axis", static_cast<std::int64_t>(axis)}, {"epsilon", epsilon}};
    return make_match(rule_, std::move(layers), {std::move(spec), std::move(inputs), result, {}});
  }

  const model::Graph& graph_;
  ValueUses uses_;
  std::string_view rule_;
};

}  // namespace

std::vector<Match> find_layer_norms(const model::Graph& graph, std::string_view rule) {
  const Finder finder(graph, rule);
  std::vector<Match> result;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    if (std::optional<Match> match = finder.from_mean(id)) {
      result.push_back(std::move(*match));
    }
  }
  return result;
}

}  // namespace plumb::rewrite
