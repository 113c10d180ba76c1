// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/layer_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

Dims broadcast(const Dims& a, const Dims& b) {
  Dims longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  const std::size_t ahead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (longer[ahead + i] == 1) {
      longer[ahead + i] = shorter[i];
    }
  }
  return longer;
}

Dims all_axes(std::size_t rank) {
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

}  // namespace

Dims LayerWriter::dims(model::ValueId value) const {
  return graph_->values.at(value).type.dims;
}

model::DataType LayerWriter::type(model::ValueId value) const {
  return graph_->values.at(value).type.dtype;
}

std::vector<model::ValueId> LayerWriter::add(const std::string& op,
                                             const Operands& operands,
                                             const std::vector<Dims>& results,
                                             Attributes attributes,
                                             std::optional<model::DataType> type) {
  const model::LayerId id = graph_->layers.size();
  model::Layer layer;
  layer.name = fmt::format("{} {}", name_, op);
  layer.role = op == "view" ? model::Layer::Role::kView : model::Layer::Role::kCompute;
  layer.spec.op = op;
  for (const std::optional<model::ValueId>& operand : operands) {
    layer.spec.inputs.push_back(operand ? std::optional(graph_->values.at(*operand).type)
                                        : std::nullopt);
  }
  const model::DataType first = layer.spec.inputs.front().value().dtype;
  layer.spec.accumulate = model::accumulation_type(first);
  layer.spec.attributes = std::move(attributes);
  layer.inputs = operands;
  for (const Dims& dims : results) {
    const model::TensorType made{.dtype = type.value_or(first), .dims = dims};
    layer.spec.outputs.push_back(made);
    layer.outputs.push_back(graph_->values.size());
    graph_->values.push_back({fmt::format("{} {}.{}", name_, op, id), made, id, {}});
  }
  layer.key = model::to_key(layer.spec);
  layer.cost = model::compute_cost(layer.spec);
  graph_->layers.push_back(layer);
  return layer.outputs;
}

model::ValueId LayerWriter::layer(const std::string& op,
                                  const Operands& operands,
                                  const Dims& result,
                                  Attributes attributes,
                                  std::optional<model::DataType> type) {
  return add(op, operands, {result}, std::move(attributes), type).front();
}

model::ValueId LayerWriter::eltwise(std::string_view fn,
                                    model::ValueId x,
                                    std::vector<double> parameters) {
  return layer(
      "eltwise", {x}, dims(x), {{"fn", std::string(fn)}, {"parameters", std::move(parameters)}});
}

model::ValueId LayerWriter::scaled(model::ValueId x, double factor) {
  return factor == 1.0 ? x : eltwise("linear", x, {factor, 0.0});
}

model::ValueId LayerWriter::binary(std::string_view fn, model::ValueId a, model::ValueId b) {
  const bool compares = fn.starts_with("greater") || fn.starts_with("less") || fn == "equal";
  return layer("binary",
               {a, b},
               broadcast(dims(a), dims(b)),
               {{"fn", std::string(fn)}},
               compares ? std::optional(model::DataType::kBool) : std::nullopt);
}

model::ValueId LayerWriter::sum(const std::vector<model::ValueId>& values) {
  PLUMB_CHECK(!values.empty());
  if (values.size() == 1) {
    return values.front();
  }
  return values.size() == 2
             ? binary("add", values.front(), values.back())
             : layer("sum", Operands(values.begin(), values.end()), dims(values.front()));
}

model::ValueId LayerWriter::reduce(std::string_view fn, model::ValueId x, const Dims& axes) {
  Dims to = dims(x);
  for (const std::int64_t axis : axes) {
    to.at(static_cast<std::size_t>(axis)) = 1;
  }
  return layer(
      "reduce", {x}, to, {{"axes", axes}, {"fn", std::string(fn)}, {"keepdims", std::int64_t{1}}});
}

model::ValueId LayerWriter::view(model::ValueId x, const Dims& to) {
  return dims(x) == to ? x : layer("view", {x}, to);
}

model::ValueId LayerWriter::expand(model::ValueId x, const Dims& to) {
  return dims(x) == to ? x : layer("expand", {x}, to);
}

model::ValueId LayerWriter::transpose(model::ValueId x, const Dims& permutation) {
  Dims to;
  for (const std::int64_t axis : permutation) {
    to.push_back(dims(x).at(static_cast<std::size_t>(axis)));
  }
  return layer("transpose", {x}, to, {{"perm", permutation}});
}

model::ValueId LayerWriter::swap_last(model::ValueId x) {
  Dims permutation = all_axes(dims(x).size());
  std::swap(permutation.at(permutation.size() - 1), permutation.at(permutation.size() - 2));
  return transpose(x, permutation);
}

model::ValueId LayerWriter::slice(model::ValueId x, const Dims& starts, const Dims& to) {
  Dims axes;
  Dims from;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (dims(x).at(i) != to[i]) {
      axes.push_back(static_cast<std::int64_t>(i));
      from.push_back(starts.at(i));
    }
  }
  const Dims steps(axes.size(), 1);
  return axes.empty()
             ? x
             : layer("slice", {x}, to, {{"axes", axes}, {"starts", from}, {"steps", steps}});
}

model::ValueId LayerWriter::pad(model::ValueId x,
                                const Dims& before,
                                const Dims& to,
                                double number) {
  Dims pads = before;
  for (std::size_t i = 0; i < to.size(); ++i) {
    pads.push_back(to[i] - before.at(i) - dims(x).at(i));
  }
  return dims(x) == to
             ? x
             : layer("pad",
                     {x},
                     to,
                     {{"mode", std::string("constant")}, {"pads", pads}, {"value", number}});
}

model::ValueId LayerWriter::constant(model::DataType type, double number) {
  const model::ValueId made = graph_->values.size();
  graph_->values.push_back({fmt::format("{} constant {}", name_, made),
                            {.dtype = type, .dims = {1}, .constant = true},
                            {},
                            number});
  return made;
}

// Each row has zeros for as many keys as there are queries, then infinities. Where it is one
// element shorter, the elements of the next row lie one place further behind, and so on.
model::ValueId LayerWriter::causal_mask(model::DataType type,
                                        std::int64_t queries,
                                        std::int64_t keys) {
  const auto [mask, is_new] = causal_masks_.try_emplace(MaskShape{type, queries, keys});
  if (is_new) {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const std::int64_t row = queries + keys;
    const model::LayerId first = graph_->layers.size();
    const model::ValueId zeros = expand(constant(type, 0.0), {queries, queries});
    const model::ValueId rows = pad(zeros, {0, 0}, {queries, row}, kNever);
    const model::ValueId shorter = slice(view(rows, {queries * row}), {0}, {queries * (row - 1)});
    mask->second = slice(view(shorter, {queries, row - 1}), {0, queries - 1}, {queries, keys});
    fold_from(first);
  }
  return mask->second;
}

model::ValueId LayerWriter::constant_like(model::ValueId constant, double number) {
  const model::LayerId first = graph_->layers.size();
  const model::ValueId made = eltwise("linear", constant, {0.0, number});
  fold_from(first);
  return made;
}

void LayerWriter::fold_from(model::LayerId first) {
  for (model::LayerId id = first; id < graph_->layers.size(); ++id) {
    model::Layer& layer = graph_->layers[id];
    layer.role = model::Layer::Role::kFolded;
    layer.key = {};
    layer.cost = {};
    for (const model::ValueId output : layer.outputs) {
      graph_->values[output].type.constant = true;
    }
  }
}

model::ValueId LayerWriter::cast(model::ValueId x, model::DataType to) {
  return layer("cast", {x}, dims(x), {}, to);
}

model::ValueId LayerWriter::product(
    model::ValueId a, model::ValueId b, bool transpose_a, bool transpose_b, double alpha) {
  const Dims to{dims(a).at(transpose_a ? 1 : 0), dims(b).at(transpose_b ? 0 : 1)};
  return layer("gemm",
               {a, b},
               to,
               {{"alpha", alpha},
                {"beta", 1.0},
                {"trans_a", std::int64_t{transpose_a}},
                {"trans_b", std::int64_t{transpose_b}}});
}

model::ValueId LayerWriter::unbroadcast(model::ValueId x, const Dims& to) {
  const Dims from = dims(x);
  PLUMB_CHECK(from.size() >= to.size());
  const std::size_t ahead = from.size() - to.size();
  Dims axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && (i < ahead || to[i - ahead] == 1)) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  return view(axes.empty() ? x : reduce("sum", x, axes), to);
}

namespace {

struct Row {
  std::string_view op;
  GradientRule rule;
};

constexpr std::array kRules = std::to_array<Row>({
    {"attention", attention_gradient},
    {"average_pool", average_pool_gradient},
    {"batch_norm", batch_norm_gradient},
    {"batch_norm_training", batch_norm_training_gradient},
    {"binary", binary_gradient},
    {"cast", cast_gradient},
    {"concat", concat_gradient},
    {"conv", convolution_gradient},
    {"conv_transpose", transposed_convolution_gradient},
    {"depth_to_space", depth_to_space_gradient},
    {"eltwise", eltwise_gradient},
    {"expand", expand_gradient},
    {"gather", gather_gradient},
    {"gemm", gemm_gradient},
    {"group_norm", group_norm_gradient},
    {"instance_norm", instance_norm_gradient},
    {"layer_norm", layer_norm_gradient},
    {"lrn", lrn_gradient},
    {"matmul", matmul_gradient},
    {"max", extremum_gradient},
    {"max_pool", max_pool_gradient},
    {"min", extremum_gradient},
    {"pad", pad_gradient},
    {"prelu", prelu_gradient},
    {"reduce", reduce_gradient},
    {"resize", resize_gradient},
    {"rms_norm", rms_norm_gradient},
    {"slice", slice_gradient},
    {"softmax", softmax_gradient},
    {"space_to_depth", space_to_depth_gradient},
    {"split", split_gradient},
    {"sum", sum_gradient},
    {"tile", tile_gradient},
    {"transpose", transpose_gradient},
    {"view", view_gradient},
    {"where", where_gradient},
});

}  // namespace

GradientRule find_gradient_rule(std::string_view op) {
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(), [&](const Row& row) { return row.op == op; });
  return found == kRules.end() ? nullptr : found->rule;
}

}  // namespace plumb::rewrite
