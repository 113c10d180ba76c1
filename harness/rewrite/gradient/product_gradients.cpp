// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/model/key/operator_families.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

/// Returns the attributes of a convolution alone, as its gradients have them.
LayerWriter::Attributes window_of(const model::LayerSpec& spec) {
  LayerWriter::Attributes window;
  for (const char* const name : {"dilations", "group", "pads", "strides"}) {
    window[name] = spec.attributes.at(name);
  }
  return window;
}

/// Gives a convolution's bias the sum over everything but the channels.
void give_bias(LayerWriter::Gradient& gradient) {
  if (!gradient.wants(2)) {
    return;
  }
  const Dims dims = gradient.writer.dims(gradient.dy());
  Dims axes{0};
  for (std::size_t i = 2; i < dims.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const model::ValueId sum = gradient.writer.reduce("sum", gradient.dy(), axes);
  gradient.give(2, gradient.writer.view(sum, gradient.writer.dims(gradient.input(2))));
}

/// Returns a value of rank 2 or more as a matrix whose rows are its last axis.
model::ValueId rows_of(LayerWriter& writer, model::ValueId x) {
  const Dims dims = writer.dims(x);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    rows *= dims[i];
  }
  return writer.view(x, {rows, dims.back()});
}

}  // namespace

std::optional<std::string> convolution_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const LayerWriter::Attributes window = window_of(gradient.layer.spec);
  if (gradient.wants(0)) {
    gradient.give(0,
                  writer.layer("conv_backward_data",
                               {gradient.dy(), gradient.input(1)},
                               writer.dims(gradient.input(0)),
                               window));
  }
  if (!gradient.wants(1)) {
    give_bias(gradient);
    return {};
  }
  LayerWriter::Attributes with_outputs = window;
  with_outputs["outputs"] = std::string(gradient.wants(2) ? "wb" : "w");
  std::vector<Dims> results{writer.dims(gradient.input(1))};
  if (gradient.wants(2)) {
    results.push_back(writer.dims(gradient.input(2)));
  }
  const std::vector<model::ValueId> made = writer.add(
      "conv_backward_weights", {gradient.dy(), gradient.input(0)}, results, with_outputs);
  gradient.give(1, made.front());
  if (gradient.wants(2)) {
    gradient.give(2, made.back());
  }
  return {};
}

// A transposed convolution is the gradient of a convolution of its result. So its gradients are
// that convolution and the gradient of that convolution's weights.
std::optional<std::string> transposed_convolution_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const LayerWriter::Attributes window = window_of(gradient.layer.spec);
  if (gradient.wants(0)) {
    gradient.give(
        0,
        writer.layer(
            "conv", {gradient.dy(), gradient.input(1)}, writer.dims(gradient.input(0)), window));
  }
  if (gradient.wants(1)) {
    LayerWriter::Attributes with_outputs = window;
    with_outputs["outputs"] = std::string("w");
    gradient.give(1,
                  writer.layer("conv_backward_weights",
                               {gradient.input(0), gradient.dy()},
                               writer.dims(gradient.input(1)),
                               with_outputs));
  }
  give_bias(gradient);
  return {};
}

std::optional<std::string> gemm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const bool a = spec.integer("trans_a") != 0;
  const bool b = spec.integer("trans_b") != 0;
  const double alpha = spec.real("alpha");
  if (gradient.wants(0)) {
    gradient.give(0,
                  a ? writer.product(gradient.input(1), gradient.dy(), b, true, alpha)
                    : writer.product(gradient.dy(), gradient.input(1), false, !b, alpha));
  }
  if (gradient.wants(1)) {
    gradient.give(1,
                  b ? writer.product(gradient.dy(), gradient.input(0), true, a, alpha)
                    : writer.product(gradient.input(0), gradient.dy(), !a, false, alpha));
  }
  if (gradient.wants(2)) {
    gradient.give(2, writer.scaled(gradient.dy(), spec.real("beta")));
  }
  return {};
}

std::optional<std::string> matmul_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId a = gradient.input(0);
  const model::ValueId b = gradient.input(1);
  const model::ValueId dy = gradient.dy();
  const Dims from_a = writer.dims(a);
  const Dims from_b = writer.dims(b);
  if (from_a.size() < 2 || from_b.size() < 2) {
    return "a product with a vector";
  }
  if (from_b.size() == 2) {  // one matrix for the whole batch: its gradient sums over the batch
    if (gradient.wants(0)) {
      const model::ValueId rows = writer.product(rows_of(writer, dy), b, false, true);
      gradient.give(0, writer.view(rows, from_a));
    }
    if (gradient.wants(1)) {
      gradient.give(1, writer.product(rows_of(writer, a), rows_of(writer, dy), true, false));
    }
    return {};
  }
  const Dims to = writer.dims(dy);
  if (gradient.wants(0)) {
    Dims dims = to;
    dims.back() = from_a.back();
    gradient.give(0, writer.layer("matmul", {dy, writer.swap_last(b)}, dims));
  }
  if (gradient.wants(1)) {
    Dims dims = to;
    dims[dims.size() - 2] = from_b[from_b.size() - 2];
    gradient.give(1, writer.layer("matmul", {writer.swap_last(a), dy}, dims));
  }
  return {};
}

namespace {

using model::ValueId;

/// Returns what keeps the gradient of an attention unknown, or nothing.
std::optional<std::string> refusal(const model::LayerSpec& spec) {
  if (spec.has_input(4) || spec.text("outputs") != "y") {
    return "an attention with keys of earlier steps";
  }
  return {};
}

/// Heads of an attention as [batch, heads, length, numbers]. Where query heads share keys, they are
/// [batch, heads of keys, heads that share them, length, numbers].
class Heads {
 public:
  Heads(LayerWriter& writer, const model::AttentionShape& shape) : writer_(writer), s_(shape) {}

  /// Returns extents whose first ones are those of the heads.
  [[nodiscard]] Dims dims(std::int64_t heads, std::int64_t length, std::int64_t numbers) const {
    return s_.q_heads == s_.kv_heads
               ? Dims{s_.batch, heads, length, numbers}
               : Dims{s_.batch, s_.kv_heads, heads / s_.kv_heads, length, numbers};
  }

  /// Takes apart the heads of an operand.
  [[nodiscard]] ValueId apart(ValueId x,
                              std::int64_t heads,
                              std::int64_t length,
                              std::int64_t numbers) {
    if (!s_.heads_apart) {
      x = writer_.transpose(writer_.view(x, {s_.batch, length, heads, numbers}), {0, 2, 1, 3});
    }
    return writer_.view(x, dims(heads, length, numbers));
  }

  /// Puts heads together as an operand has them. Sums over heads that share it.
  [[nodiscard]] ValueId together(ValueId x,
                                 std::int64_t heads,
                                 std::int64_t length,
                                 std::int64_t numbers) {
    x = writer_.unbroadcast(x, dims(heads, length, numbers));
    x = writer_.view(x, {s_.batch, heads, length, numbers});
    return s_.heads_apart ? x
                          : writer_.view(writer_.transpose(x, {0, 2, 1, 3}),
                                         {s_.batch, length, heads * numbers});
  }

 private:
  LayerWriter& writer_;
  const model::AttentionShape& s_;
};

/// Adds what the mask and the order of keys leave of the scores: minus infinity for keys that a
/// query does not see.
ValueId masked(LayerWriter::Gradient& gradient,
               ValueId scores,
               const model::AttentionShape& shape) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const model::DataType type = writer.type(scores);
  if (spec.has_input(3)) {
    const bool adds = model::is_floating(spec.inputs[3]->dtype);
    const ValueId mask = gradient.input(3);
    // A share is mask · exp(score) ÷ their sum, with a mask of 0 and 1.
    scores =
        writer.binary("add", scores, adds ? mask : writer.eltwise("log", writer.cast(mask, type)));
  }
  if (spec.integer("causal") != 0) {
    scores = writer.binary("add", scores, writer.causal_mask(type, shape.queries, shape.keys));
  }
  return scores;
}

}  // namespace

// The shares P = softmax(scale · q·kᵀ + mask) are computed once more. With dP = dy·vᵀ and dS the
// gradient of the softmax: dv = Pᵀ·dy, dq = scale · dS·k and dk = scale · dSᵀ·q. With a cap,
// scale · q·kᵀ is cap · tanh(scale ÷ cap · q·kᵀ), and dS goes through that, too.
std::optional<std::string> attention_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  if (std::optional<std::string> reason = refusal(spec)) {
    return reason;
  }
  const model::AttentionShape s = model::attention_shape(spec);
  Heads heads(writer, s);
  const ValueId q = heads.apart(gradient.input(0), s.q_heads, s.queries, s.head);
  const ValueId k = heads.apart(gradient.input(1), s.kv_heads, s.keys, s.head);
  const ValueId v = heads.apart(gradient.input(2), s.kv_heads, s.keys, s.value_head);
  const ValueId dy = heads.apart(gradient.dy(), s.q_heads, s.queries, s.value_head);
  const Dims pairs = heads.dims(s.q_heads, s.queries, s.keys);
  const Dims scores{s.batch, s.q_heads, s.queries, s.keys};  // as a mask has them
  const LayerWriter::Attributes over_keys{
      {"axis", std::int64_t{3}}, {"coerce", std::int64_t{0}}, {"log", std::int64_t{0}}};
  const double cap = spec.real("softcap");
  const double scale = spec.real("scale") / (cap > 0.0 ? cap : 1.0);
  const ValueId products = writer.layer("matmul", {q, writer.swap_last(k)}, pairs);
  const ValueId scaled = writer.view(writer.scaled(products, scale), scores);
  const ValueId capped = cap > 0.0 ? writer.scaled(writer.eltwise("tanh", scaled), cap) : scaled;
  const ValueId shares = writer.layer("softmax", {masked(gradient, capped, s)}, scores, over_keys);
  if (gradient.wants(2)) {
    const ValueId of_values = writer.layer("matmul",
                                           {writer.swap_last(writer.view(shares, pairs)), dy},
                                           heads.dims(s.q_heads, s.keys, s.value_head));
    gradient.give(2, heads.together(of_values, s.kv_heads, s.keys, s.value_head));
  }
  if (!gradient.wants(0) && !gradient.wants(1) && !gradient.wants(3)) {
    return {};
  }
  const ValueId of_shares = writer.layer("matmul", {dy, writer.swap_last(v)}, pairs);
  const ValueId of_scores =
      writer.layer("softmax_backward", {writer.view(of_shares, scores), shares}, scores, over_keys);
  if (gradient.wants(3)) {
    gradient.give(3, of_scores);
  }
  const ValueId of_scaled =
      cap > 0.0 ? writer.layer("eltwise_backward",
                               {writer.scaled(of_scores, cap), scaled},
                               scores,
                               {{"fn", std::string("tanh")}, {"parameters", std::vector<double>{}}})
                : of_scores;
  const ValueId of_products = writer.view(writer.scaled(of_scaled, scale), pairs);
  if (gradient.wants(0)) {
    const ValueId of_queries =
        writer.layer("matmul", {of_products, k}, heads.dims(s.q_heads, s.queries, s.head));
    gradient.give(0, heads.together(of_queries, s.q_heads, s.queries, s.head));
  }
  if (gradient.wants(1)) {
    const ValueId of_keys = writer.layer(
        "matmul", {writer.swap_last(of_products), q}, heads.dims(s.q_heads, s.keys, s.head));
    gradient.give(1, heads.together(of_keys, s.kv_heads, s.keys, s.head));
  }
  return {};
}

}  // namespace plumb::rewrite
