// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/rewrite/training_example.hpp"

#include <cmath>

#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using Dims = GraphSketch::Dims;
using LayerAttributes = std::map<std::string, model::Attribute>;

constexpr std::int64_t kNo = 0;
constexpr std::int64_t kYes = 1;

constexpr std::size_t kTarget = 1000;  // of number(), as if it were a value

model::Graph convolutions() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 3, 6, 6});
  const auto first = sketch.relu(sketch.batch_norm(sketch.conv(x, 6, 3)));
  const auto second = sketch.conv(first, 6, 3, true);
  const auto joined = sketch.relu(sketch.add(first, second));  // `first` has two readers
  const auto pooled = sketch.layer("max_pool",
                                   {joined},
                                   {4, 6, 3, 3},
                                   {{"ceil_mode", kNo},
                                    {"dilations", Dims{1, 1}},
                                    {"kernel", Dims{2, 2}},
                                    {"pads", Dims{0, 0, 0, 0}},
                                    {"strides", Dims{2, 2}}});
  const auto mean = sketch.layer("average_pool",
                                 {pooled},
                                 {4, 6, 1, 1},
                                 {{"ceil_mode", kNo},
                                  {"count_include_pad", kNo},
                                  {"dilations", Dims{1, 1}},
                                  {"kernel", Dims{3, 3}},
                                  {"pads", Dims{0, 0, 0, 0}},
                                  {"strides", Dims{1, 1}}});
  const auto logits = sketch.gemm(sketch.view(mean, {4, 6}), 5);
  const auto softmax = sketch.layer(
      "softmax", {logits}, {4, 5}, {{"axis", std::int64_t{1}}, {"coerce", kNo}, {"log", kNo}});
  return sketch.build({softmax});
}

model::Graph depthwise_and_lrn() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 4, 5, 5});
  const auto grouped = sketch.layer("conv",
                                    {x, sketch.weight({4, 1, 3, 3}), sketch.weight({4})},
                                    {4, 4, 3, 3},
                                    {{"dilations", Dims{1, 1}},
                                     {"group", std::int64_t{4}},
                                     {"pads", Dims{1, 1, 1, 1}},
                                     {"strides", Dims{2, 2}}});
  const auto normalized =
      sketch.layer("lrn",
                   {sketch.conv(grouped, 7, 1)},
                   {4, 7, 3, 3},
                   {{"alpha", 0.3}, {"beta", 0.75}, {"bias", 1.0}, {"size", std::int64_t{5}}});
  const auto sloped = sketch.layer("prelu", {normalized, sketch.weight({7, 1, 1})}, {4, 7, 3, 3});
  const auto wider = sketch.layer("conv_transpose",
                                  {sloped, sketch.weight({7, 2, 3, 3}), sketch.weight({2})},
                                  {4, 2, 5, 5},
                                  {{"dilations", Dims{1, 1}},
                                   {"group", std::int64_t{1}},
                                   {"output_padding", Dims{0, 0}},
                                   {"pads", Dims{1, 1, 1, 1}},
                                   {"strides", Dims{2, 2}}});
  return sketch.build({wider});
}

model::Graph attention_block() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 3, 8});
  const auto normalized =
      sketch.layer("layer_norm",
                   {sketch.matmul(x, 8), sketch.weight({8}), sketch.weight({8})},
                   {4, 3, 8},
                   {{"axis", std::int64_t{2}}, {"epsilon", 1e-5}});
  const auto heads = [&](model::ValueId from, const Dims& perm, const Dims& dims) {
    const auto apart = sketch.view(sketch.matmul(from, 8), {4, 3, 2, 4});
    return sketch.layer("transpose", {apart}, dims, {{"perm", perm}});
  };
  const auto q = heads(normalized, {0, 2, 1, 3}, {4, 2, 3, 4});
  const auto k = heads(normalized, {0, 2, 3, 1}, {4, 2, 4, 3});
  const auto v = heads(normalized, {0, 2, 1, 3}, {4, 2, 3, 4});
  const auto products = sketch.layer("matmul", {q, k}, {4, 2, 3, 3});
  const auto scores = sketch.mul(products, sketch.weight({}, 0.5));
  const auto shares = sketch.layer("softmax",
                                   {scores},
                                   {4, 2, 3, 3},
                                   {{"axis", std::int64_t{3}}, {"coerce", kNo}, {"log", kNo}});
  const auto mixed = sketch.layer("matmul", {shares, v}, {4, 2, 3, 4});
  const auto back = sketch.layer("transpose", {mixed}, {4, 3, 2, 4}, {{"perm", Dims{0, 2, 1, 3}}});
  const auto flat = sketch.view(back, {4, 3, 8});
  const auto joined = sketch.add(flat, sketch.weight({8}));
  return sketch.build({sketch.add(sketch.eltwise(joined, "gelu_erf"), normalized)});
}

/// Attention as one layer: with a mask that is trained, and with two query heads for each key.
model::Graph fused_attention() {
  GraphSketch sketch;
  const auto attributes = [](std::int64_t kv_heads, double scale) {
    return LayerAttributes{{"causal", kNo},
                           {"kv_heads", kv_heads},
                           {"outputs", std::string("y")},
                           {"q_heads", std::int64_t{4}},
                           {"scale", scale},
                           {"softcap", 0.0}};
  };
  const auto x = sketch.input({4, 3, 8});
  const auto heads = [&] {
    const auto apart = sketch.view(sketch.matmul(x, 8), {4, 3, 4, 2});
    return sketch.layer("transpose", {apart}, {4, 4, 3, 2}, {{"perm", Dims{0, 2, 1, 3}}});
  };
  const auto q = heads();
  const auto k = heads();
  const auto v = heads();
  const auto masked = sketch.layer(
      "attention", {q, k, v, sketch.weight({4, 1, 3})}, {4, 4, 3, 2}, attributes(4, 0.7));
  const auto joined =
      sketch.layer("transpose", {masked}, {4, 3, 4, 2}, {{"perm", Dims{0, 2, 1, 3}}});
  const auto y = sketch.view(joined, {4, 3, 8});
  return sketch.build({sketch.layer("attention",
                                    {sketch.matmul(y, 8), sketch.matmul(y, 4), sketch.matmul(y, 6)},
                                    {4, 3, 12},
                                    attributes(2, 0.5))});
}

/// Attention of queries that see the keys up to their own place, with a cap, then with a mask that
/// says which keys count.
model::Graph causal_attention() {
  GraphSketch sketch;
  const auto attributes = [](std::int64_t causal, std::int64_t kv_heads, double cap) {
    return LayerAttributes{{"causal", causal},
                           {"kv_heads", kv_heads},
                           {"outputs", std::string("y")},
                           {"q_heads", std::int64_t{4}},
                           {"scale", 0.6},
                           {"softcap", cap}};
  };
  const auto x = sketch.input({4, 3, 8});
  const auto z = sketch.input({4, 5, 6});
  const auto y = sketch.layer("attention",
                              {sketch.matmul(x, 8), sketch.matmul(z, 4), sketch.matmul(z, 6)},
                              {4, 3, 12},
                              attributes(kYes, 2, 1.5));
  const auto mask = sketch.input({3, 3}, model::DataType::kBool);
  return sketch.build(
      {sketch.layer("attention",
                    {sketch.matmul(y, 8), sketch.matmul(y, 8), sketch.matmul(y, 8), mask},
                    {4, 3, 8},
                    attributes(kNo, 4, 0.0))});
}

/// GELU, SiLU and HardSwish, as exporters write them.
model::Graph written_out_activations() {
  GraphSketch sketch;
  const auto x = sketch.gemm(sketch.input({4, 5}), 6);
  const auto ratio = sketch.binary("div", x, sketch.weight({}, std::sqrt(2.0)));
  const auto one = sketch.add(sketch.eltwise(ratio, "erf"), sketch.weight({}, 1.0));
  const auto gelu = sketch.mul(sketch.mul(x, one), sketch.weight({}, 0.5));
  const auto y = sketch.gemm(gelu, 7);
  const auto z = sketch.gemm(sketch.mul(y, sketch.sigmoid(y)), 6);
  const auto gate = sketch.eltwise(z, "hard_sigmoid", {1.0 / 6.0, 0.5});
  return sketch.build({sketch.gemm(sketch.mul(z, gate), 3)});
}

model::Graph movements() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 6});
  const auto a = sketch.gemm(x, 6);
  const auto b = sketch.gemm(x, 4);
  const auto joined = sketch.layer("concat", {a, b}, {4, 10}, {{"axis", std::int64_t{1}}});
  const auto part = sketch.layer(
      "slice", {joined}, {4, 8}, {{"axes", Dims{1}}, {"starts", Dims{1}}, {"steps", Dims{1}}});
  const auto padded =
      sketch.layer("pad",
                   {part},
                   {4, 11},
                   {{"mode", std::string("constant")}, {"pads", Dims{0, 2, 0, 1}}, {"value", 0.7}});
  const auto tiled = sketch.layer("tile", {padded}, {8, 33}, {{"repeats", Dims{2, 3}}});
  const auto wide = sketch.layer("expand", {sketch.weight({1, 33})}, {8, 33});
  const auto swapped =
      sketch.layer("transpose", {sketch.mul(tiled, wide)}, {33, 8}, {{"perm", Dims{1, 0}}});
  return sketch.build({swapped});
}

model::Graph space_and_depth() {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({4, 2, 4, 4}), 8, 1, true);
  const auto wide = sketch.layer("depth_to_space",
                                 {x},
                                 {4, 2, 8, 8},
                                 {{"block", std::int64_t{2}}, {"mode", std::string("dcr")}});
  const auto mixed = sketch.conv(wide, 2, 3);
  const auto deep =
      sketch.layer("space_to_depth", {mixed}, {4, 8, 4, 4}, {{"block", std::int64_t{2}}});
  // An even number of channels: the window reaches further to one side.
  return sketch.build(
      {sketch.layer("lrn",
                    {deep},
                    {4, 8, 4, 4},
                    {{"alpha", 0.2}, {"beta", 0.5}, {"bias", 2.0}, {"size", std::int64_t{4}}})});
}

model::Graph arithmetic() {
  GraphSketch sketch;
  const auto x = sketch.eltwise(sketch.input({4, 5}), "sigmoid");
  const auto a = sketch.mul(x, sketch.weight({5}));
  const auto b = sketch.add(sketch.binary("div", a, sketch.weight({4, 1})), sketch.weight({4, 5}));
  const auto c = sketch.binary("pow", b, sketch.weight({5}));
  const auto d = sketch.binary("max", c, sketch.weight({5}));
  const auto e = sketch.binary("min", d, sketch.binary("sub", sketch.weight({5}), a));
  const auto mean = sketch.mean(e);
  const auto f = sketch.binary("sub", e, mean);
  const auto norm = sketch.layer(
      "reduce", {f}, {4}, {{"axes", Dims{1}}, {"fn", std::string("l2")}, {"keepdims", kNo}});
  const auto sum = sketch.layer("sum", {f, e, c}, {4, 5});
  return sketch.build(
      {sketch.binary("div", sum, sketch.view(sketch.eltwise(norm, "exp"), {4, 1}))});
}

/// Reductions of rows, and the largest and smallest of three tensors.
model::Graph extremes_and_sums() {
  GraphSketch sketch;
  const auto x = sketch.gemm(sketch.input({4, 5}), 6);
  const auto reduced = [&](const std::string& fn, model::ValueId from) {
    return sketch.layer(
        "reduce", {from}, {4, 1}, {{"axes", Dims{1}}, {"fn", fn}, {"keepdims", kYes}});
  };
  const auto total =
      sketch.layer("reduce",
                   {sketch.sigmoid(x)},
                   {4},
                   {{"axes", Dims{1}}, {"fn", std::string("log_sum")}, {"keepdims", kNo}});
  const auto rows = sketch.layer("concat",
                                 {reduced("max", x),
                                  reduced("min", x),
                                  reduced("l1", x),
                                  reduced("log_sum_exp", x),
                                  sketch.view(total, {4, 1})},
                                 {4, 5},
                                 {{"axis", std::int64_t{1}}});
  const auto largest =
      sketch.layer("max", {rows, sketch.weight({4, 5}), sketch.weight({4, 5})}, {4, 5});
  const auto smallest =
      sketch.layer("min", {sketch.weight({4, 5}), rows, sketch.weight({4, 5})}, {4, 5});
  return sketch.build({sketch.layer("sum", {largest, smallest, rows}, {4, 5})});
}

/// Every other element, and channels that become blocks in the order of PyTorch.
model::Graph steps_and_blocks() {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({4, 2, 5, 7}), 8, 1, true);
  const auto part =
      sketch.layer("slice",
                   {x},
                   {4, 8, 2, 3},
                   {{"axes", Dims{2, 3}}, {"starts", Dims{1, 0}}, {"steps", Dims{2, 3}}});
  const auto wide = sketch.layer("depth_to_space",
                                 {part},
                                 {4, 2, 4, 6},
                                 {{"block", std::int64_t{2}}, {"mode", std::string("crd")}});
  return sketch.build({sketch.conv(wide, 2, 3)});
}

/// Rows of two tables, some of them several times, and one of them behind its first axis.
model::Graph embeddings() {
  GraphSketch sketch;
  const auto words = sketch.input({4, 3}, model::DataType::kS64);
  const LayerAttributes rows{{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}};
  const LayerAttributes inner{{"axis", std::int64_t{1}}, {"distribution", std::string("uniform")}};
  const auto first = sketch.layer("gather", {sketch.weight({6, 5}), words}, {4, 3, 5}, rows);
  const auto second =
      sketch.layer("gather", {sketch.weight({4, 7, 5}), words}, {4, 4, 3, 5}, inner);
  return sketch.build({sketch.mul(second, first)});
}

/// Normalisation of each channel of each sample, and elements that are repeated.
model::Graph instances() {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({4, 2, 3, 3}), 3, 3);
  const auto normalized = sketch.layer("instance_norm",
                                       {x, sketch.weight({3}), sketch.weight({3})},
                                       {4, 3, 3, 3},
                                       {{"epsilon", 1e-5}});
  const auto wide = sketch.layer("resize",
                                 {normalized},
                                 {4, 3, 6, 9},
                                 {{"antialias", kNo},
                                  {"coordinates", std::string("asymmetric")},
                                  {"cubic_a", -0.75},
                                  {"exclude_outside", kNo},
                                  {"mode", std::string("nearest")},
                                  {"nearest_mode", std::string("floor")},
                                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 3.0}}});
  return sketch.build({sketch.conv(wide, 2, 3, true)});
}

/// Normalisation of groups, scaled by channel and by group, and by the root of the mean square.
model::Graph groups_and_rows() {
  GraphSketch sketch;
  const LayerAttributes two_groups{{"epsilon", 1e-5}, {"groups", std::int64_t{2}}};
  const auto normalized = [&](model::ValueId x, std::int64_t scales) {
    return sketch.layer("group_norm",
                        {x, sketch.weight({scales}), sketch.weight({scales})},
                        {4, 4, 3, 3},
                        two_groups);
  };
  const auto by_channel = normalized(sketch.conv(sketch.input({4, 2, 3, 3}), 4, 3), 4);
  const auto by_group = normalized(sketch.conv(by_channel, 4, 1), 2);
  const auto rows = sketch.layer("rms_norm",
                                 {sketch.view(by_group, {4, 4, 9}), sketch.weight({9})},
                                 {4, 4, 9},
                                 {{"axis", std::int64_t{2}}, {"epsilon", 1e-5}});
  return sketch.build({sketch.gemm(sketch.view(rows, {4, 36}), 3)});
}

/// A weight that two layers read, one of them transposed.
model::Graph shared_weights() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 6});
  const auto w = sketch.weight({6, 6});
  const auto first =
      sketch.layer("gemm",
                   {x, w, sketch.weight({6})},
                   {4, 6},
                   {{"alpha", 0.5}, {"beta", 2.0}, {"trans_a", kNo}, {"trans_b", kYes}});
  const auto second = sketch.layer("matmul", {sketch.eltwise(first, "tanh"), w}, {4, 6});
  const auto third =
      sketch.layer("gemm",
                   {w, second},
                   {6, 4},
                   {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", kYes}, {"trans_b", kYes}});
  return sketch.build({third});
}

/// Clicks that are told by a row of a table and by numbers, as a sigmoid's probability.
model::Graph clicks() {
  GraphSketch sketch;
  const auto words = sketch.input({4}, model::DataType::kS64);
  const auto numbers = sketch.relu(sketch.gemm(sketch.input({4, 3}), 5));
  const auto rows =
      sketch.layer("gather",
                   {sketch.weight({6, 5}), words},
                   {4, 5},
                   {{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}});
  return sketch.build({sketch.sigmoid(sketch.gemm(sketch.mul(numbers, rows), 1))});
}

/// Scores of three classes for each of two anchors at nine places.
model::Graph detections() {
  GraphSketch sketch;
  const auto features = sketch.eltwise(sketch.conv(sketch.input({4, 3, 3, 3}), 6, 3, true), "tanh");
  const auto scores = sketch.view(sketch.conv(features, 6, 1, true), {4, 2, 3, 3, 3});
  const auto last =
      sketch.layer("transpose", {scores}, {4, 3, 3, 2, 3}, {{"perm", Dims{0, 3, 4, 1, 2}}});
  return sketch.build({sketch.view(last, {4, 18, 3})});
}

/// Logits of three classes at each of sixteen places.
model::Graph segments() {
  GraphSketch sketch;
  const auto features = sketch.eltwise(sketch.conv(sketch.input({4, 3, 4, 4}), 5, 3, true), "tanh");
  return sketch.build({sketch.conv(features, 3, 1, true)});
}

/// Batch normalisations with frozen statistics: one whose scale and shift are trained, and two that
/// are frozen as a whole.
model::Graph stored_statistics() {
  GraphSketch sketch;
  const auto normalized = [&](model::ValueId x) {
    return sketch.eltwise(sketch.batch_norm(x), "tanh");
  };
  const auto first = normalized(sketch.conv(sketch.input({4, 3, 5, 5}), 4, 3));
  const auto second = normalized(sketch.conv(first, 5, 1, true));
  return sketch.build({sketch.batch_norm(sketch.conv(second, 2, 3))});
}

/// A part of what the last product reads is dropped.
model::Graph dropout() {
  GraphSketch sketch;
  const auto hidden = sketch.eltwise(sketch.gemm(sketch.input({4, 5}), 6), "tanh");
  const auto kept = sketch.view(hidden, {4, 6});
  model::Graph graph = sketch.build({sketch.gemm(kept, 3)});
  graph.layers[sketch.at(kept)].onnx_op = "Dropout";
  return graph;
}

}  // namespace

double number(std::size_t value, std::size_t element) {
  return std::sin(1.7 * static_cast<double>(element) + 0.9 * static_cast<double>(value) + 0.3);
}

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.name;
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all{
      {"convolutions", convolutions},
      {"depthwise_and_lrn", depthwise_and_lrn, Loss::kMeanSquaredError},
      {"attention_block", attention_block},
      {"fused_attention", fused_attention},
      {"causal_attention", causal_attention},
      {"written_out_activations", written_out_activations},
      {"movements", movements},
      {"space_and_depth", space_and_depth, Loss::kMeanSquaredError},
      {"arithmetic", arithmetic, Loss::kMeanSquaredError, true},
      {"extremes_and_sums", extremes_and_sums, Loss::kMeanSquaredError},
      {"steps_and_blocks", steps_and_blocks, Loss::kMeanSquaredError},
      {"shared_weights", shared_weights},
      {"instances", instances, Loss::kMeanSquaredError},
      {"groups_and_rows", groups_and_rows},
      {"embeddings", embeddings, Loss::kMeanSquaredError},
      {"clicks", clicks, Loss::kBinaryCrossEntropy},
      {"detections", detections, Loss::kFocal},
      {"segments", segments, Loss::kDiceCrossEntropy},
      {"dropout", dropout},
      {"stored_statistics",
       stored_statistics,
       Loss::kMeanSquaredError,
       true,
       {"w5", "w6", "w12", "w13", "w14", "w15", "w20", "w21", "w22", "w23"}},
  };
  return all;
}

Numbers numbers_of_example(const Example& example, const TrainingGraph& made) {
  Numbers values;
  std::vector<bool> is_input(made.graph.values.size());
  for (const model::ValueId input : made.graph.inputs) {
    is_input[input] = true;
  }
  for (const TrainingGraph::Gradient& each : made.gradients) {
    is_input[each.parameter] = false;  // of a whole step
  }
  for (model::ValueId id = 0; id < made.graph.values.size(); ++id) {
    const model::Value& value = made.graph.values[id];
    if (value.producer) {
      continue;
    }
    std::vector<double> numbers(static_cast<std::size_t>(model::element_count(value.type)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = number(id, i);
      if (!model::is_floating(value.type.dtype)) {
        numbers[i] = static_cast<double>(3 * i % 5);  // of the rows of a table
      } else if (value.scalar) {
        numbers[i] = *value.scalar;
      } else if (example.positive && !is_input[id]) {
        numbers[i] = 1.0 + 0.5 * numbers[i];
      }
    }
    values[id] = numbers;
  }
  std::vector<double>& target = values.at(made.target);
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = 0.5 + 0.4 * number(kTarget, i);
    if (example.loss == Loss::kFocal) {
      target[i] = target[i] > 0.8 ? 1.0 : 0.0;  // labels
    }
  }
  for (const model::ValueId mask : made.masks) {
    for (double& kept : values.at(mask)) {
      kept = kept > -0.5 ? 1.25 : 0.0;
    }
  }
  return values;
}

}  // namespace plumb::rewrite
