// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/activation_pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"
#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::array kFusedFunctions = std::to_array<std::string_view>({"relu",
                                                                        "leaky_relu",
                                                                        "elu",
                                                                        "sigmoid",
                                                                        "tanh",
                                                                        "softplus",
                                                                        "clip",
                                                                        "hard_sigmoid",
                                                                        "hard_swish",
                                                                        "silu",
                                                                        "gelu_erf",
                                                                        "gelu_tanh",
                                                                        "mish"});

/// Walk from a value through the layers that read it, one at a time.
struct Walk {
  const model::Graph& graph;
  model::ValueId value;                  ///< start of the walk
  std::vector<model::LayerId> layers{};  ///< passed so far

  [[nodiscard]] const model::Layer& layer(model::LayerId id) const { return graph.layers[id]; }
  [[nodiscard]] model::ValueId end() const { return layer(layers.back()).outputs.front(); }
  [[nodiscard]] Walk then(model::LayerId id) const {
    Walk next = *this;
    next.layers.push_back(id);
    return next;
  }
};

std::optional<Activation> finish(const Walk& walk, std::string fn) {
  const model::TensorType& from = walk.graph.values[walk.value].type;
  const model::TensorType& to = walk.graph.values[walk.end()].type;
  if (from.dims != to.dims || from.dtype != to.dtype) {
    return std::nullopt;  // a constant of higher rank, or a mixed type: not an element-wise
                          // function
  }
  return Activation{model::Epilogue{std::move(fn), {}, {}}, walk.layers, walk.end()};
}

/// Extends a walk by the product of its last value g(x) with its start x. Absent if no such product
/// is the only reader.
std::optional<Walk> times_start(const Walk& walk, const ValueUses& uses) {
  const std::optional<model::LayerId> next = uses.only_reader(walk.end());
  if (!next) {
    return std::nullopt;
  }
  const model::Layer& product = walk.layer(*next);
  const std::optional<std::size_t> other = other_operand(product, "mul", walk.end());
  if (!other || product.inputs[*other] != walk.value) {
    return std::nullopt;
  }
  return walk.then(*next);
}

/// Extends a walk by binary `fn` of its last value and the constant `expected`.
std::optional<Walk> with_scalar(const Walk& walk,
                                const ValueUses& uses,
                                std::string_view fn,
                                double expected) {
  const std::optional<model::LayerId> next = uses.only_reader(walk.end());
  if (!next || !is_with_scalar(walk.graph, walk.layer(*next), fn, walk.end(), expected)) {
    return std::nullopt;
  }
  return walk.then(*next);
}

std::optional<Walk> over_six(const Walk& walk, const ValueUses& uses) {
  std::optional<Walk> divided = with_scalar(walk, uses, "div", 6.0);
  return divided ? divided : with_scalar(walk, uses, "mul", 1.0 / 6.0);
}

/// Matches x · hard_sigmoid(x), or x · clip(x + 3, 0, 6) ÷ 6 with the division first or last.
std::optional<Activation> hard_swish_from(const Walk& start, const ValueUses& uses) {
  const model::Layer& first = start.layer(start.layers.front());
  if (is_fn(first, "eltwise", "hard_sigmoid")) {
    const std::vector<double>& parameters = first.spec.reals("parameters");
    if (std::abs(parameters.at(0) - 1.0 / 6.0) > 1e-3 || std::abs(parameters.at(1) - 0.5) > 1e-3) {
      return std::nullopt;
    }
    const std::optional<Walk> product = times_start(start, uses);
    return product ? finish(*product, "hard_swish") : std::nullopt;
  }
  if (!is_with_scalar(start.graph, first, "add", start.value, 3.0)) {
    return std::nullopt;
  }
  const std::optional<model::LayerId> next = uses.only_reader(start.end());
  if (!next || !is_fn(start.layer(*next), "eltwise", "clip") ||
      start.layer(*next).spec.reals("parameters") != std::vector<double>{0.0, 6.0}) {
    return std::nullopt;
  }
  const Walk clipped = start.then(*next);
  if (const std::optional<Walk> product = times_start(clipped, uses)) {
    const std::optional<Walk> divided = over_six(*product, uses);
    return divided ? finish(*divided, "hard_swish") : std::nullopt;
  }
  if (const std::optional<Walk> divided = over_six(clipped, uses)) {
    const std::optional<Walk> product = times_start(*divided, uses);
    return product ? finish(*product, "hard_swish") : std::nullopt;
  }
  return std::nullopt;
}

/// Extends a walk by (x · ½) · g, where g is its last value.
std::optional<Walk> times_half_of_start(const Walk& walk, const ValueUses& uses) {
  const std::optional<model::LayerId> next = uses.only_reader(walk.end());
  if (!next) {
    return std::nullopt;
  }
  const std::optional<std::size_t> other = other_operand(walk.layer(*next), "mul", walk.end());
  if (!other || !walk.layer(*next).inputs[*other]) {
    return std::nullopt;
  }
  const std::optional<model::LayerId> half =
      walk.graph.values[*walk.layer(*next).inputs[*other]].producer;
  if (!half || !(is_with_scalar(walk.graph, walk.layer(*half), "mul", walk.value, 0.5) ||
                 is_with_scalar(walk.graph, walk.layer(*half), "div", walk.value, 2.0))) {
    return std::nullopt;
  }
  return walk.then(*half).then(*next);
}

/// Extends a walk by x · ½ · g with the products in any order, where g is its last value.
std::optional<Walk> times_half_and_start(const Walk& walk, const ValueUses& uses) {
  if (std::optional<Walk> product = times_half_of_start(walk, uses)) {
    return product;
  }
  if (const std::optional<Walk> product = times_start(walk, uses)) {
    std::optional<Walk> halved = with_scalar(*product, uses, "mul", 0.5);
    return halved ? halved : with_scalar(*product, uses, "div", 2.0);
  }
  const std::optional<Walk> halved = with_scalar(walk, uses, "mul", 0.5);
  return halved ? times_start(*halved, uses) : std::nullopt;
}

/// Matches x · ½ · (1 + erf(x ÷ √2)) with the products in any order (Hendrycks & Gimpel 2016, §2).
std::optional<Activation> gelu_from(const Walk& start, const ValueUses& uses) {
  const model::Layer& first = start.layer(start.layers.front());
  const double root = std::sqrt(2.0);
  if (!is_with_scalar(start.graph, first, "div", start.value, root) &&
      !is_with_scalar(start.graph, first, "mul", start.value, 1.0 / root)) {
    return std::nullopt;
  }
  const std::optional<model::LayerId> error = uses.only_reader(start.end());
  if (!error || !is_fn(start.layer(*error), "eltwise", "erf")) {
    return std::nullopt;
  }
  const std::optional<Walk> plus_one = with_scalar(start.then(*error), uses, "add", 1.0);
  if (!plus_one) {
    return std::nullopt;
  }
  const std::optional<Walk> all = times_half_and_start(*plus_one, uses);
  return all ? finish(*all, "gelu_erf") : std::nullopt;
}

std::optional<Activation> single_node(const model::Graph& graph, model::LayerId id) {
  const model::Layer& layer = graph.layers[id];
  if (!is_op(layer, "eltwise")) {
    return std::nullopt;
  }
  const std::string& fn = layer.spec.text("fn");
  if (std::find(kFusedFunctions.begin(), kFusedFunctions.end(), fn) == kFusedFunctions.end()) {
    return std::nullopt;
  }
  return Activation{
      model::Epilogue{fn, layer.spec.reals("parameters"), {}}, {id}, layer.outputs.front()};
}

std::optional<Activation> written_out(const model::Graph& graph,
                                      const ValueUses& uses,
                                      model::ValueId value,
                                      model::LayerId reader) {
  const Walk start{graph, value, {reader}};
  if (is_fn(graph.layers[reader], "eltwise", "sigmoid")) {
    const std::optional<Walk> product = times_start(start, uses);
    return product ? finish(*product, "silu") : std::nullopt;
  }
  if (std::optional<Activation> found = hard_swish_from(start, uses)) {
    return found;
  }
  return gelu_from(start, uses);
}

}  // namespace

std::vector<Activation> find_activations(const model::Graph& graph,
                                         const ValueUses& uses,
                                         model::ValueId value) {
  std::vector<Activation> result;
  std::optional<model::LayerId> previous;
  for (const model::LayerId reader : uses.readers(value)) {
    if (reader == previous) {
      continue;
    }
    previous = reader;
    if (std::optional<Activation> found = single_node(graph, reader)) {
      result.push_back(std::move(*found));
    }
    if (std::optional<Activation> found = written_out(graph, uses, value, reader)) {
      result.push_back(std::move(*found));
    }
  }
  return result;
}

std::vector<Match> find_written_out_activations(const model::Graph& graph,
                                                std::string_view rule,
                                                std::string_view fn) {
  const ValueUses uses(graph);
  std::vector<Match> result;
  for (model::ValueId value = 0; value < graph.values.size(); ++value) {
    for (const Activation& activation : find_activations(graph, uses, value)) {
      if (activation.step.fn != fn || activation.layers.size() < 2 ||
          !uses.closed(activation.layers, std::span(&activation.result, 1))) {
        continue;
      }
      model::LayerSpec spec;
      spec.op = "eltwise";
      spec.inputs = {graph.values[value].type};
      spec.outputs = {graph.values[activation.result].type};
      spec.attributes = {{"fn", activation.step.fn}, {"parameters", activation.step.parameters}};
      result.push_back(
          make_match(rule, activation.layers, {std::move(spec), {value}, activation.result, {}}));
    }
  }
  return result;
}

namespace {

/// Returns whether an `eltwise_backward` of dy reads the function's operand row by row as dy lies.
bool keeps_rows(const model::TensorType& saved, const model::TensorType& dy) {
  return saved.dtype == dy.dtype && saved.strides.empty() && !saved.dims.empty() &&
         !dy.dims.empty() && saved.dims.back() == dy.dims.back() &&
         element_count(saved) == element_count(dy);
}

/// Makes the match of the first of some layers with the function's gradient, which is the last.
Match with_gradient(const model::Graph& graph,
                    std::string_view rule,
                    std::vector<model::LayerId> layers) {
  const model::Layer& layer = graph.layers[layers.front()];
  const model::Layer& gradient = graph.layers[layers.back()];
  const model::OpSchema* const schema = model::find_op_schema(layer.spec.op);
  PLUMB_CHECK(schema != nullptr);
  Replacement joined{layer.spec, layer.inputs, gradient.outputs.front(), {}};
  const std::size_t operand = std::max(joined.spec.inputs.size(), schema->max_inputs);
  joined.spec.inputs.resize(operand);
  joined.inputs.resize(operand);
  model::TensorType saved = gradient.spec.inputs[1].value();
  saved.dims = layer.spec.outputs.front().dims;  // those before the view
  joined.spec.inputs.emplace_back(std::move(saved));
  joined.inputs.push_back(gradient.inputs[1]);
  joined.spec.epilogue.push_back(model::Epilogue{
      gradient.spec.text("fn") + "_backward", gradient.spec.reals("parameters"), operand});
  return make_match(rule, std::move(layers), std::move(joined));
}

}  // namespace

std::vector<Match> find_activation_gradients(const model::Graph& graph,
                                             std::string_view rule,
                                             std::string_view anchor) {
  const ValueUses uses(graph);
  std::vector<Match> result;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (!is_op(layer, anchor) || layer.outputs.size() != 1 || !layer.spec.epilogue.empty()) {
      continue;
    }
    std::vector<model::LayerId> layers{id};
    model::ValueId dy = layer.outputs.front();
    std::optional<model::LayerId> reader = uses.only_reader(dy);
    // Results of other ranks may lie in layouts that only their own extents describe.
    const bool is_matrix = layer.spec.outputs.front().dims.size() == 2;
    if (reader && is_matrix && graph.layers[*reader].role == model::Layer::Role::kView) {
      layers.push_back(*reader);
      dy = graph.layers[*reader].outputs.front();
      reader = uses.only_reader(dy);
    }
    if (!reader || !is_op(graph.layers[*reader], "eltwise_backward")) {
      continue;
    }
    layers.push_back(*reader);
    const model::Layer& gradient = graph.layers[*reader];
    if (gradient.inputs[0] == dy &&
        keeps_rows(gradient.spec.inputs[1].value(), layer.spec.outputs.front())) {
      result.push_back(with_gradient(graph, rule, std::move(layers)));
    }
  }
  return result;
}

}  // namespace plumb::rewrite
