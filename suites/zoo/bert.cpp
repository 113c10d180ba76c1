// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <numeric>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// BERT-base of Devlin et al. (arXiv 1810.04805, section 3).
constexpr std::int64_t kLayers = 12;
constexpr std::int64_t kHidden = 768;
constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kHeadSize = kHidden / kHeads;
constexpr std::int64_t kIntermediate = 4 * kHidden;
constexpr std::int64_t kVocabulary = 30522;
constexpr std::int64_t kPositions = 512;

/// PyTorch exports a linear layer on three-dimensional input as MatMul and Add, the bias first.
Wire linear(GraphBuilder& net, const Wire& x, std::int64_t units, const std::string& label) {
  const std::string name = net.next_name("Linear", label);
  const Wire product =
      x.matmul(net.weight(name + "_weight", {x.shape().back(), units}), label + "_matmul");
  return net.node(
      "Add", {net.weight(name + "_bias", {units}), product}, product.shape(), {}, name + "_add");
}

Wire layer_norm(GraphBuilder& net, const Wire& x, std::string_view label) {
  const std::string name = net.next_name("LayerNorm", label);
  return net.node(
      "LayerNormalization",
      {x, net.weight(name + "_weight", {kHidden}), net.weight(name + "_bias", {kHidden})},
      x.shape(),
      {{"axis", std::int64_t{-1}}, {"epsilon", 1e-12F}},
      name);
}

Wire embedding(GraphBuilder& net,
               const Wire& indices,
               std::int64_t rows,
               const std::string& label) {
  const Wire table = net.weight(net.next_name("Gather", label) + "_weight", {rows, kHidden});
  Shape out = indices.shape();
  out.push_back(kHidden);
  return net.node("Gather", {table, indices}, std::move(out), {}, net.next_name("Gather", label));
}

/// Holds the scalars of the graph, which every layer shares.
struct Scalars {
  Wire score_scale;
  Wire root_two;
  Wire one;
  Wire half;
};

Wire split_heads(const Wire& x, const std::vector<std::int64_t>& permutation) {
  return x.reshape({0, 0, kHeads, kHeadSize}).transpose(permutation);
}

Wire self_attention(GraphBuilder& net, const Wire& x, const Wire& mask, const Scalars& scalars) {
  const Wire query = split_heads(linear(net, x, kHidden, "query"), {0, 2, 1, 3});
  // The exporter merges the two transposes of the keys into one.
  const Wire key = split_heads(linear(net, x, kHidden, "key"), {0, 2, 3, 1});
  const Wire value = split_heads(linear(net, x, kHidden, "value"), {0, 2, 1, 3});
  const Wire scores = query.matmul(key, "scores").div(scalars.score_scale).add(mask, "mask_add");
  const Wire context = scores.softmax(-1).matmul(value, "context");
  return linear(
      net, context.transpose({0, 2, 1, 3}).reshape({0, 0, kHidden}), kHidden, "attention_output");
}

/// Writes GELU as the exporter does before opset 20: x · (1 + erf(x / √2)) · ½.
Wire gelu(GraphBuilder& net, const Wire& x, const Scalars& scalars) {
  const Wire scaled = x.div(scalars.root_two, "gelu_div");
  const Wire erf = net.node("Erf", {scaled}, x.shape(), {}, net.next_name("Erf", "gelu_erf"));
  return x.mul(erf.add(scalars.one, "gelu_add"), "gelu_mul").mul(scalars.half, "gelu_half");
}

Wire encoder_layer(GraphBuilder& net, const Wire& x, const Wire& mask, const Scalars& scalars) {
  const Wire attention = self_attention(net, x, mask, scalars).add(x, "attention_residual");
  const Wire middle = layer_norm(net, attention, "attention_norm");
  const Wire wide = gelu(net, linear(net, middle, kIntermediate, "intermediate"), scalars);
  const Wire narrow = linear(net, wide, kHidden, "output").add(middle, "output_residual");
  return layer_norm(net, narrow, "output_norm");
}

/// Turns the 0/1 mask into what is added to the scores: 0 or −10,000, as in the paper's own code.
Wire additive_mask(GraphBuilder& net, const Wire& mask, const Scalars& scalars) {
  const Wire broad = mask.unsqueeze({1}).unsqueeze({2});
  const Wire real = net.node("Cast", {broad}, broad.shape(), {{"to", std::int64_t{1}}});
  const Wire inverse = net.node("Sub", {scalars.one, real}, broad.shape());
  return inverse.mul(net.scalar("mask_value", -10000.0F));
}

}  // namespace

onnx::ModelProto bert_base(const Sizes& sizes) {
  const std::int64_t batch = sizes.batch;
  const std::int64_t sequence = sizes["sequence"];
  GraphBuilder net("bert-base", 17);
  const Wire ids = net.input("input_ids", {batch, sequence}, DataType::kS64);
  const Wire attention_mask = net.input("attention_mask", {batch, sequence}, DataType::kS64);
  const Wire types = net.input("token_type_ids", {batch, sequence}, DataType::kS64);
  const Scalars scalars{net.scalar("score_scale", 8.0F),
                        net.scalar("root_two", 1.41421356F),
                        net.scalar("one", 1.0F),
                        net.scalar("half", 0.5F)};
  const Wire mask = additive_mask(net, attention_mask, scalars);

  net.enter("embeddings_");
  std::vector<std::int64_t> positions(static_cast<std::size_t>(sequence));
  std::iota(positions.begin(), positions.end(), 0);
  const Wire words = embedding(net, ids, kVocabulary, "word");
  const Wire tokens = words.add(embedding(net, types, 2, "token_type"));
  const Wire position_ids = net.integers("position_ids", positions, {1, sequence});
  const Wire places = embedding(net, position_ids, std::max(kPositions, sequence), "position");
  Wire x = layer_norm(net, tokens.add(places), "norm");
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    net.enter("layer" + std::to_string(layer) + "_");
    x = encoder_layer(net, x, mask, scalars);
  }
  net.enter("pooler_");
  net.output(x);
  const Wire first = net.node("Gather",
                              {x, net.integers("pooler_token", {0}, {})},
                              {batch, kHidden},
                              {{"axis", std::int64_t{1}}});
  const Wire pooled = first.gemm(kHidden, "dense");
  net.output(net.node("Tanh", {pooled}, pooled.shape()));
  return net.finish();
}

}  // namespace plumb::zoo
