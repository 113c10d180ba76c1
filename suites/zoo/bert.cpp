// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <numeric>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// Sizes of one of the two models of Devlin et al. (arXiv 1810.04805, section 3).
struct Encoder {
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
};
constexpr Encoder kBase{.layers = 12, .hidden = 768, .heads = 12};
constexpr Encoder kLarge{.layers = 24, .hidden = 1024, .heads = 16};
constexpr std::int64_t kBertVocabulary = 30522;
constexpr std::int64_t kPositions = 512;

/// Appends a linear layer on three-dimensional input as PyTorch exports it: MatMul, then Add with
/// the bias first.
Wire linear(GraphBuilder& net, const Wire& x, std::int64_t units, const std::string& label) {
  const std::string name = net.next_name("Linear", label);
  const Wire product =
      x.matmul(net.weight(name + "_weight", {x.shape().back(), units}), label + "_matmul");
  return net.node(
      "Add", {net.weight(name + "_bias", {units}), product}, product.shape(), {}, name + "_add");
}

Wire layer_norm(GraphBuilder& net, const Wire& x, std::string_view label) {
  const std::string name = net.next_name("LayerNorm", label);
  const Shape hidden{x.shape().back()};
  return net.node("LayerNormalization",
                  {x, net.weight(name + "_weight", hidden), net.weight(name + "_bias", hidden)},
                  x.shape(),
                  {{"axis", std::int64_t{-1}}, {"epsilon", 1e-12F}},
                  name);
}

Wire embedding(GraphBuilder& net,
               const Wire& indices,
               const Shape& table_shape,
               const std::string& label) {
  const Wire table = net.weight(net.next_name("Gather", label) + "_weight", table_shape);
  Shape out = indices.shape();
  out.push_back(table_shape.back());
  return net.node("Gather", {table, indices}, std::move(out), {}, net.next_name("Gather", label));
}

/// Values that every layer shares: the heads and the scalars of the graph.
struct Shared {
  std::int64_t heads = 1;
  Wire score_scale;
  Wire root_two;
  Wire one;
  Wire half;
};

Wire split_heads(const Wire& x, const Shared& shared, const std::vector<std::int64_t>& order) {
  return x.reshape({0, 0, shared.heads, x.shape().back() / shared.heads}).transpose(order);
}

Wire self_attention(GraphBuilder& net, const Wire& x, const Wire& mask, const Shared& shared) {
  const std::int64_t hidden = x.shape().back();
  const Wire query = split_heads(linear(net, x, hidden, "query"), shared, {0, 2, 1, 3});
  // The exporter merges the two transposes of the keys into one.
  const Wire key = split_heads(linear(net, x, hidden, "key"), shared, {0, 2, 3, 1});
  const Wire value = split_heads(linear(net, x, hidden, "value"), shared, {0, 2, 1, 3});
  const Wire scores = query.matmul(key, "scores").div(shared.score_scale).add(mask, "mask_add");
  const Wire context = scores.softmax(-1).matmul(value, "context");
  return linear(
      net, context.transpose({0, 2, 1, 3}).reshape({0, 0, hidden}), hidden, "attention_output");
}

/// Appends GELU as the exporter does before opset 20: x · (1 + erf(x / √2)) · ½.
Wire gelu(GraphBuilder& net, const Wire& x, const Shared& shared) {
  const Wire scaled = x.div(shared.root_two, "gelu_div");
  const Wire erf = net.node("Erf", {scaled}, x.shape(), {}, net.next_name("Erf", "gelu_erf"));
  return x.mul(erf.add(shared.one, "gelu_add"), "gelu_mul").mul(shared.half, "gelu_half");
}

Wire encoder_layer(GraphBuilder& net, const Wire& x, const Wire& mask, const Shared& shared) {
  const std::int64_t hidden = x.shape().back();
  const Wire attention = self_attention(net, x, mask, shared).add(x, "attention_residual");
  const Wire middle = layer_norm(net, attention, "attention_norm");
  const Wire wide = gelu(net, linear(net, middle, 4 * hidden, "intermediate"), shared);
  const Wire narrow = linear(net, wide, hidden, "output").add(middle, "output_residual");
  return layer_norm(net, narrow, "output_norm");
}

/// Turns the 0/1 mask into what is added to the scores: 0 or −10,000, as in the paper's own code.
Wire additive_mask(GraphBuilder& net, const Wire& mask, const Shared& shared) {
  const Wire broad = mask.unsqueeze({1}).unsqueeze({2});
  const Wire real = net.node("Cast", {broad}, broad.shape(), {{"to", std::int64_t{1}}});
  const Wire inverse = net.node("Sub", {shared.one, real}, broad.shape());
  return inverse.mul(net.scalar("mask_value", -10000.0F));
}

/// Turns the number of each token's sequence into what is added to the scores: 0 within a sequence,
/// −10,000 between two (Krell et al., arXiv 2107.02027, section 3.2). Padding is a sequence, too.
Wire block_mask(GraphBuilder& net, const Wire& sequences, const Shared& shared) {
  const Wire heads = sequences.unsqueeze({1});
  const std::int64_t tokens = heads.shape().back();
  const Shape pairs{heads.shape().front(), 1, tokens, tokens};
  const Wire same = net.node("Equal", {heads.unsqueeze({3}), heads.unsqueeze({2})}, pairs);
  const Wire real = net.node("Cast", {same}, pairs, {{"to", std::int64_t{1}}});
  const Wire inverse = net.node("Sub", {shared.one, real}, pairs);
  return inverse.mul(net.scalar("mask_value", -10000.0F));
}

Wire standard_positions(GraphBuilder& net, std::int64_t sequence) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(sequence));
  std::iota(positions.begin(), positions.end(), 0);
  return net.integers("position_ids", positions, {1, sequence});
}

/// Appends inputs, embeddings and encoder layers; returns the last hidden states. Samples that are
/// packed name each token's sequence and position.
Wire encode(GraphBuilder& net, const Sizes& sizes, const Encoder& encoder, bool packed = false) {
  const std::int64_t sequence = sizes["sequence"];
  const std::int64_t hidden = encoder.hidden;
  const Shape tokens{sizes.batch, sequence};
  const Wire ids = net.input("input_ids", tokens, model::DataType::kS64);
  const Wire seen =
      net.input(packed ? "sequence_ids" : "attention_mask", tokens, model::DataType::kS64);
  const Wire types = net.input("token_type_ids", tokens, model::DataType::kS64);
  const Wire position_ids = packed ? net.input("position_ids", tokens, model::DataType::kS64)
                                   : standard_positions(net, sequence);
  const Shared shared{encoder.heads,
                      net.scalar("score_scale", 8.0F),  // √64: both models have heads of 64
                      net.scalar("root_two", 1.41421356F),
                      net.scalar("one", 1.0F),
                      net.scalar("half", 0.5F)};
  const Wire mask = packed ? block_mask(net, seen, shared) : additive_mask(net, seen, shared);

  net.enter("embeddings_");
  const Wire words = embedding(net, ids, {kBertVocabulary, hidden}, "word");
  const Wire typed = words.add(embedding(net, types, {2, hidden}, "token_type"));
  const Wire places =
      embedding(net, position_ids, {std::max(kPositions, sequence), hidden}, "position");
  Wire x = layer_norm(net, typed.add(places), "norm");
  for (std::int64_t layer = 0; layer < encoder.layers; ++layer) {
    net.enter("layer" + std::to_string(layer) + "_");
    x = encoder_layer(net, x, mask, shared);
  }
  return x;
}

}  // namespace

onnx::ModelProto bert_base(const Sizes& sizes) {
  GraphBuilder net("bert-base", 17);
  const Wire x = encode(net, sizes, kBase);
  net.enter("pooler_");
  net.output(x);
  const Wire first = net.node("Gather",
                              {x, net.integers("pooler_token", {0}, {})},
                              {sizes.batch, kBase.hidden},
                              {{"axis", std::int64_t{1}}});
  const Wire pooled = first.gemm(kBase.hidden, "dense");
  net.output(net.node("Tanh", {pooled}, pooled.shape()));
  return net.finish();
}

onnx::ModelProto bert_base_packed(const Sizes& sizes) {
  GraphBuilder net("bert-base-packed", 17);
  const Shape packed{sizes.batch, sizes["packed"]};
  const Wire x = encode(net, sizes, kBase, true);
  net.enter("pooler_");
  net.output(x);
  // The first token of each sequence, counted over the whole batch.
  const Wire starts = net.input("sequence_starts", packed, model::DataType::kS64);
  const Wire first = net.node(
      "Gather", {x.reshape({-1, kBase.hidden}), starts}, {packed[0], packed[1], kBase.hidden});
  const Wire pooled = first.reshape({-1, kBase.hidden}).gemm(kBase.hidden, "dense");
  net.output(net.node("Tanh", {pooled}, pooled.shape()));
  return net.finish();
}

onnx::ModelProto bert_large(const Sizes& sizes) {
  GraphBuilder net("bert-large", 17);
  const Wire x = encode(net, sizes, kLarge);
  net.enter("answer_");
  const Wire logits = linear(net, x, 2, "span");
  const Shape one{sizes.batch, sizes["sequence"], 1};
  const Wire start = net.node("Split",
                              {logits, net.integers("split_sizes", {1, 1}, {2})},
                              one,
                              {{"axis", std::int64_t{-1}}},
                              "split",
                              {"_end"});
  const Wire last_axis = net.integers("last_axis", {-1}, {1});
  const Shape flat{sizes.batch, sizes["sequence"]};
  net.output(net.node("Squeeze", {start, last_axis}, flat));
  net.output(net.node("Squeeze", {Wire(net, "split_end", one), last_axis}, flat));
  return net.finish();
}

}  // namespace plumb::zoo
