// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/rewrite.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/activation_pattern.hpp"
#include "harness/rewrite/match.hpp"
#include "harness/rewrite/patterns.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::size_t kMaxTensors = 48;

/// What updates of one layer share: the operation, its numbers and its condition.
using Rule =
    std::tuple<std::string, std::map<std::string, model::Attribute>, std::optional<model::ValueId>>;

/// Returns the value on which an update depends.
std::optional<model::ValueId> condition_of(const model::Layer& layer) {
  const std::optional<std::size_t> operand = model::UpdateShape(layer.spec).condition();
  return operand ? layer.inputs.at(*operand) : std::nullopt;
}

Match join(const model::Graph& graph,
           std::string_view rule,
           const std::vector<model::LayerId>& layers) {
  Replacement joined;
  std::vector<model::ValueId> results;
  for (const model::LayerId id : layers) {
    const model::Layer& layer = graph.layers[id];
    if (id == layers.front()) {
      joined.spec = layer.spec;
      joined.spec.inputs.clear();
      joined.spec.outputs.clear();
    }
    const auto own =
        static_cast<std::ptrdiff_t>(layer.inputs.size()) - (condition_of(layer) ? 1 : 0);
    std::copy_n(layer.spec.inputs.begin(), own, std::back_inserter(joined.spec.inputs));
    std::copy(layer.spec.outputs.begin(),
              layer.spec.outputs.end(),
              std::back_inserter(joined.spec.outputs));
    std::copy_n(layer.inputs.begin(), own, std::back_inserter(joined.inputs));
    std::copy(layer.outputs.begin(), layer.outputs.end(), std::back_inserter(results));
  }
  const model::Layer& last = graph.layers[layers.back()];
  if (condition_of(last)) {
    joined.spec.inputs.push_back(last.spec.inputs.back());
    joined.inputs.push_back(last.inputs.back());
  }
  joined.result = results.front();
  joined.further_results.assign(results.begin() + 1, results.end());
  return make_match(rule, layers, std::move(joined));
}

/// Finds updates of single tensors by one rule with the same numbers. Up to 48 of them become one
/// layer, as multi-tensor kernels of optimisers do it (the key of any more would be unwieldy).
[[nodiscard]] std::vector<Match> find_updates(const model::Graph& graph, std::string_view rule) {
  std::map<Rule, std::vector<model::LayerId>> updates;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::LayerSpec& spec = graph.layers[id].spec;
    if (graph.layers[id].role == model::Layer::Role::kCompute && model::is_update(spec) &&
        model::UpdateShape(spec).tensors() == 1) {
      updates[{spec.op, spec.attributes, condition_of(graph.layers[id])}].push_back(id);
    }
  }
  std::vector<Match> matches;
  for (const auto& [of, layers] : updates) {
    for (std::size_t first = 0; first + 1 < layers.size(); first += kMaxTensors) {
      const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(first);
      const auto count = std::min(kMaxTensors, layers.size() - first);
      matches.push_back(join(graph, rule, {begin, begin + static_cast<std::ptrdiff_t>(count)}));
    }
  }
  return matches;
}

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

/// Finds products of training that read the rows of a gradient, with the sum of these rows beside
/// them: the gradients of a matrix of weights and of its bias. A match becomes one
/// `gemm_bias_gradient`.
[[nodiscard]] std::vector<Match> find_bias_gradients(const model::Graph& graph,
                                                     std::string_view rule) {
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

/// Finds LayerNormalization written as several nodes, as exporters do below opset 17. These are
/// ReduceMean, Sub, Pow (or Mul by itself), ReduceMean, Add epsilon, Sqrt, Div, Mul scale and Add
/// bias. A match is one `layer_norm` with a bias. Epsilon is 1e-5 if a weight-free file does not
/// give it.
[[nodiscard]] std::vector<Match> find_layer_norms(const model::Graph& graph,
                                                  std::string_view rule) {
  const Finder finder(graph, rule);
  std::vector<Match> result;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    if (std::optional<Match> match = finder.from_mean(id)) {
      result.push_back(std::move(*match));
    }
  }
  return result;
}

using enum Stage;
using Matches = std::vector<Match>;

// clang-format off
constexpr std::array kRewrites = std::to_array<Rewrite>({
    {"conv_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_activation", "conv", {kActivation}); }},
    {"conv_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_add", "conv", {kResidual}); }},
    {"conv_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_add_activation", "conv", {kResidual, kActivation}); }},
    {"conv_bn", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn", "conv", {kBatchNorm}); }},
    {"conv_bn_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_activation", "conv", {kBatchNorm, kActivation}); }},
    {"conv_bn_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_add", "conv", {kBatchNorm, kResidual}); }},
    {"conv_bn_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_add_activation", "conv",
                          {kBatchNorm, kResidual, kActivation}); }},
    {"conv_scale", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale", "conv", {kScale}); }},
    {"conv_scale_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_activation", "conv", {kScale, kActivation}); }},
    {"conv_scale_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_add", "conv", {kScale, kResidual}); }},
    {"conv_scale_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_add_activation", "conv",
                          {kScale, kResidual, kActivation}); }},
    {"gemm_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "gemm_activation", "gemm", {kActivation}); }},
    {"matmul_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add", "matmul", {kBias}); }},
    {"matmul_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_activation", "matmul", {kActivation}); }},
    {"matmul_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add_activation", "matmul", {kBias, kActivation}); }},
    {"matmul_add_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add_add", "matmul", {kBias, kResidual}); }},
    {"bn_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_activation", "batch_norm", {kActivation}); }},
    {"bn_scale", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_scale", "batch_norm", {kScale}); }},
    {"bn_scale_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_scale_activation", "batch_norm", {kScale, kActivation}); }},
    {"bn_training_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_training_activation", "batch_norm_training",
                          {kActivation}); }},
    {"bias_gradient", "fusion", [](const model::Graph& graph) -> Matches {
       return find_bias_gradients(graph, "bias_gradient"); }},
    {"gelu", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "gelu", "gelu_erf"); }},
    {"silu", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "silu", "silu"); }},
    {"hard_swish", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "hard_swish", "hard_swish"); }},
    {"layer_norm", "fusion", [](const model::Graph& graph) -> Matches {
       return find_layer_norms(graph, "layer_norm"); }},
    {"update", "fusion", [](const model::Graph& graph) -> Matches {
       return find_updates(graph, "update"); }},
    {"conv_activation_gradient", "gradient", [](const model::Graph& graph) -> Matches {
       return find_activation_gradients(graph, "conv_activation_gradient",
                                        "conv_backward_data"); }},
    {"gemm_activation_gradient", "gradient", [](const model::Graph& graph) -> Matches {
       return find_activation_gradients(graph, "gemm_activation_gradient", "gemm"); }},
    {"matmul_activation_gradient", "gradient", [](const model::Graph& graph) -> Matches {
       return find_activation_gradients(graph, "matmul_activation_gradient", "matmul"); }},
});
// clang-format on

}  // namespace

std::span<const Rewrite> rewrites() {
  return kRewrites;
}

std::vector<Match> matches(const model::Graph& graph, std::string_view family) {
  const FusionFamily* const of = family.empty() ? nullptr : &find_fusion_family(family);
  std::vector<Match> all;
  for (const Rewrite& rule : kRewrites) {
    if (of == nullptr ? rule.family == "gradient" : !model::is_one_of(of->rules, rule.name)) {
      continue;
    }
    std::vector<Match> found = rule.find(graph);
    if (of != nullptr) {
      std::erase_if(found, [of](const Match& match) { return !of->contains(match); });
    }
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(), [](const Match& left, const Match& right) {
    return left.layers.front() < right.layers.front();
  });
  return all;
}

std::vector<Match> largest_matches(const model::Graph& graph,
                                   const std::function<bool(const Match&)>& accepted,
                                   std::string_view family) {
  std::vector<Match> found = matches(graph, family);
  // Stable, so that of two matches of the same size the one that begins first is chosen.
  std::stable_sort(found.begin(), found.end(), [](const Match& left, const Match& right) {
    return left.layers.size() > right.layers.size();
  });
  std::vector<bool> taken(graph.layers.size(), false);
  std::erase_if(found, [&](const Match& match) {
    const bool overlaps = std::any_of(
        match.layers.begin(), match.layers.end(), [&](model::LayerId id) { return taken[id]; });
    if (overlaps || !accepted(match)) {
      return true;
    }
    for (const model::LayerId id : match.layers) {
      taken[id] = true;
    }
    return false;
  });
  return found;
}

}  // namespace plumb::rewrite
