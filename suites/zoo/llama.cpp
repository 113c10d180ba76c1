// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <limits>
#include <utility>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
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

onnx::ModelProto llama_8b_prefill(const Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-prefill", .batch = sizes.batch, .tokens = sizes["sequence"]})
      .build();
}

onnx::ModelProto llama_8b_decode(const Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-decode", .batch = sizes.batch, .past = sizes["context"]})
      .build();
}

onnx::ModelProto llama_8b_training(const Sizes& sizes) {
  return Llama({.name = "llama-3.1-8b-training",
                .batch = sizes.batch,
                .tokens = sizes["sequence"],
                .every_logit = true})
      .build();
}

}  // namespace plumb::zoo
