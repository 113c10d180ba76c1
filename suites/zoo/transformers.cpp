// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

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
Wire encode(GraphBuilder& net,
            const Entry::Sizes& sizes,
            const Encoder& encoder,
            bool packed = false) {
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

onnx::ModelProto bert_base(const Entry::Sizes& sizes) {
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

onnx::ModelProto bert_base_packed(const Entry::Sizes& sizes) {
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

onnx::ModelProto bert_large(const Entry::Sizes& sizes) {
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

namespace {

/// Llama 3.1 8B (arXiv 2407.21783, Table 3; the vocabulary is the released tokenizer's).
constexpr std::int64_t kLayers = 32;
constexpr std::int64_t kHidden = 4096;
constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKeyHeads = 8;
constexpr std::int64_t kHeadSize = kHidden / kHeads;
constexpr std::int64_t kIntermediate = 14336;
constexpr std::int64_t kLlamaVocabulary = 128256;

/// Shape of one call of the model.
struct Call {
  std::string_view name;
  std::int64_t batch = 1;
  std::int64_t tokens = 1;   ///< computed now
  std::int64_t past = 0;     ///< whose keys and values lie in the cache
  bool every_logit = false;  ///< of each token, not of the last alone
};

/// Builder of the decoder as PyTorch (transformers, eager attention) exports it: every step is a
/// node.
class Llama {
 public:
  explicit Llama(const Call& call)
      : call_(call),
        net_(call.name, 17),
        ids_(net_.input("input_ids", {call.batch, call.tokens}, model::DataType::kS64)),
        positions_(net_.input("position_ids", {call.batch, call.tokens}, model::DataType::kS64)),
        mask_(net_.input("attention_mask", {call.batch, 1, call.tokens, call.past + call.tokens})),
        two_(net_.scalar("two", 2.0F)),
        one_(net_.scalar("one", 1.0F)),
        epsilon_(net_.scalar("epsilon", 1e-5F)),
        scale_(net_.scalar("score_scale", 0.08838834764F)) {}  // 1 ÷ √128

  onnx::ModelProto build() {
    net_.enter("embed_tokens_");
    const Wire table = net_.weight("embed_tokens_weight", {kLlamaVocabulary, kHidden});
    Wire x = net_.node("Gather", {table, ids_}, {call_.batch, call_.tokens, kHidden});
    const Rotation rotation = rotation_of_positions();
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string name = "layers" + std::to_string(layer) + "_";
      net_.enter(name + "attention_");
      x = x.add(attention(rms_norm(x), rotation, std::to_string(layer)));
      net_.enter(name + "mlp_");
      x = x.add(feed_forward(rms_norm(x)));
    }
    net_.enter("head_");
    const Wire last =
        call_.every_logit ? x : slice(x, 1, {-1, std::numeric_limits<std::int64_t>::max()});
    net_.output(linear(rms_norm(last), kLlamaVocabulary));
    for (const Wire& cached : present_) {
      net_.output(cached);
    }
    return net_.finish();
  }

 private:
  struct Rotation {
    Wire cosine;  ///< [batch, 1, tokens, head size]
    Wire sine;
  };

  Wire unary(std::string_view op, const Wire& x) { return net_.node(op, {x}, x.shape()); }

  /// Appends a linear layer. No layer of the model has a bias.
  Wire linear(const Wire& x, std::int64_t units) {
    const std::string name = net_.next_name("Linear", {});
    return x.matmul(net_.weight(name + "_weight", {x.shape().back(), units}));
  }

  Wire slice(const Wire& x, std::int64_t axis, const std::pair<std::int64_t, std::int64_t>& range) {
    const std::string name = net_.next_name("Slice", {});
    Shape out = x.shape();
    std::int64_t& extent = out[static_cast<std::size_t>(axis)];
    extent = range.first < 0 ? -range.first : range.second - range.first;
    return net_.node("Slice",
                     {x,
                      net_.integers(name + "_starts", {range.first}, {1}),
                      net_.integers(name + "_ends", {range.second}, {1}),
                      net_.integers(name + "_axes", {axis}, {1})},
                     std::move(out),
                     {},
                     name);
  }

  /// Appends x ÷ √(mean of x² + ε) · weight (Zhang & Sennrich, arXiv 1910.07467, eq. 4).
  Wire rms_norm(const Wire& x) {
    const std::string name = net_.next_name("RMSNorm", {});
    Shape one_each = x.shape();
    one_each.back() = 1;
    const Wire mean = net_.node("ReduceMean",
                                {net_.node("Pow", {x, two_}, x.shape())},
                                one_each,
                                {{"axes", Shape{-1}}, {"keepdims", std::int64_t{1}}});
    const Wire root = unary("Sqrt", mean.add(epsilon_));
    const Wire inverse = net_.node("Div", {one_, root}, one_each);
    const Wire normal = x.mul(inverse);
    return net_.node(
        "Mul", {net_.weight(name + "_weight", {kHidden}), normal}, x.shape(), {}, name);
  }

  /// Computes cos and sin of position × frequency, each frequency twice (Su et al., arXiv
  /// 2104.09864, eq. 34).
  Rotation rotation_of_positions() {
    net_.enter("rotary_");
    const Wire frequencies = net_.weight("rotary_inv_freq", {1, kHeadSize / 2, 1});
    const Wire rows = positions_.unsqueeze({1});
    const Wire real = net_.node("Cast", {rows}, rows.shape(), {{"to", std::int64_t{1}}});
    const Wire angles =
        net_.node("MatMul", {frequencies, real}, {call_.batch, kHeadSize / 2, call_.tokens})
            .transpose({0, 2, 1});
    const Wire both = net_.concat({angles, angles}, 2);
    return {unary("Cos", both).unsqueeze({1}), unary("Sin", both).unsqueeze({1})};
  }

  Wire rotate(const Wire& x, const Rotation& rotation) {
    const Wire low = slice(x, 3, {0, kHeadSize / 2});
    const Wire high = slice(x, 3, {kHeadSize / 2, kHeadSize});
    const Wire turned = net_.concat({unary("Neg", high), low}, 3);
    return x.mul(rotation.cosine).add(turned.mul(rotation.sine));
  }

  Wire heads(const Wire& x, std::int64_t count) {
    return linear(x, count * kHeadSize).reshape({0, 0, count, kHeadSize}).transpose({0, 2, 1, 3});
  }

  /// Appends new keys or values to those in the cache, and makes the result the new cache.
  Wire with_past(const Wire& now, const std::string& layer, const std::string& what) {
    if (call_.past == 0) {
      present_.push_back(now);
      return now;
    }
    const Wire past =
        net_.input("past_" + layer + "_" + what, {call_.batch, kKeyHeads, call_.past, kHeadSize});
    present_.push_back(net_.concat({past, now}, 2));
    return present_.back();
  }

  /// Copies the keys or values that a group shares to each head of the group's queries.
  Wire repeat(const Wire& x) {
    const std::int64_t group = kHeads / kKeyHeads;
    const std::int64_t length = x.shape()[2];
    const std::string name = net_.next_name("Expand", {});
    return net_
        .node("Expand",
              {x.unsqueeze({2}), net_.integers(name + "_shape", {1, 1, group, 1, 1}, {5})},
              {call_.batch, kKeyHeads, group, length, kHeadSize},
              {},
              name)
        .reshape({0, kHeads, -1, kHeadSize});
  }

  Wire attention(const Wire& x, const Rotation& rotation, const std::string& layer) {
    const Wire query = rotate(heads(x, kHeads), rotation);
    const Wire new_keys = rotate(heads(x, kKeyHeads), rotation);
    const Wire new_values = heads(x, kKeyHeads);
    const Wire keys = repeat(with_past(new_keys, layer, "key"));
    const Wire values = repeat(with_past(new_values, layer, "value"));
    const Wire scores = query.matmul(keys.transpose({0, 1, 3, 2})).mul(scale_).add(mask_);
    const Wire context = scores.softmax(-1).matmul(values).transpose({0, 2, 1, 3});
    return linear(context.reshape({0, 0, kHidden}), kHidden);
  }

  /// Appends SwiGLU (Shazeer, arXiv 2002.05202, eq. 6): SiLU(x·G) ⊙ x·U, then the projection back.
  Wire feed_forward(const Wire& x) {
    const Wire gate = linear(x, kIntermediate);
    const Wire silu = gate.mul(unary("Sigmoid", gate));
    return linear(silu.mul(linear(x, kIntermediate)), kHidden);
  }

  Call call_;
  GraphBuilder net_;
  Wire ids_;
  Wire positions_;
  Wire mask_;
  Wire two_;
  Wire one_;
  Wire epsilon_;
  Wire scale_;
  std::vector<Wire> present_;  ///< keys and values of each layer, in turn
};

}  // namespace

onnx::ModelProto llama_8b_prefill(const Entry::Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-prefill", .batch = sizes.batch, .tokens = sizes["sequence"]})
      .build();
}

onnx::ModelProto llama_8b_decode(const Entry::Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-decode", .batch = sizes.batch, .past = sizes["context"]})
      .build();
}

onnx::ModelProto llama_8b_training(const Entry::Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-training",
                .batch = sizes.batch,
                .tokens = sizes["sequence"],
                .every_logit = true})
      .build();
}

}  // namespace plumb::zoo
