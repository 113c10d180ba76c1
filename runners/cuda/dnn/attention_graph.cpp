// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/attention_graph.hpp"

#include <fmt/format.h>

#include <utility>

#include "runners/cuda/dnn/attention_builder.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

using Mode = abi::PointwiseMode;

constexpr std::size_t kOperands = 3;
constexpr std::size_t kMask = 3;
constexpr std::size_t kPastKey = 4;

/// Translation of one layer into its graph, operation by operation.
class Translation {
 public:
  explicit Translation(const model::LayerSpec& spec)
      : spec_(spec), s_(model::attention_shape(spec)), b_(s_, attention_type(spec, kOperands, 1)) {}

  TensorGraph run() {
    const std::size_t q = b_.operand(0, s_.q_heads, s_.queries, s_.head);
    const std::size_t k = b_.operand(1, s_.kv_heads, s_.keys, s_.head);
    b_.turn(k);  // the first product takes the keys transposed
    const std::size_t v = b_.operand(2, s_.kv_heads, s_.keys, s_.value_head);
    const std::size_t scores = b_.product(q, k, b_.between(AttentionBuilder::kScores));
    const std::size_t weights = softmax(masked(capped(scores)));
    const std::size_t result = b_.operand(std::nullopt, s_.q_heads, s_.queries, s_.value_head);
    b_.product(weights, v, result);
    return std::move(b_.graph());
  }

 private:
  std::size_t capped(std::size_t scores) {
    const double cap = spec_.real("softcap");
    const double scale = spec_.real("scale");
    if (cap <= 0.0) {
      return b_.pointwise(Mode::kMultiply, scores, b_.number(scale));
    }
    scores = b_.pointwise(Mode::kMultiply, scores, b_.number(scale / cap));
    scores = b_.pointwise(Mode::kTanh, scores, std::nullopt);
    return b_.pointwise(Mode::kMultiply, scores, b_.number(cap));
  }

  std::size_t masked(std::size_t scores) {
    if (spec_.has_input(kMask)) {
      scores = b_.pointwise(Mode::kAdd, scores, mask());
    }
    return spec_.integer("causal") != 0 ? b_.causal(scores) : scores;
  }

  std::size_t mask() {
    const model::TensorType& type = *spec_.inputs[kMask];
    if (type.dtype != spec_.inputs[0]->dtype && type.dtype != model::DataType::kF32) {
      throw Unsupported(
          fmt::format("cuDNN's attention is not used with a mask of {}", to_text(type.dtype)));
    }
    GraphTensor& tensor = b_.graph().tensors.emplace_back();
    tensor.type = type.dtype == model::DataType::kF32 ? abi::Type::kFloat : b_.type();
    tensor.operand = kMask;
    tensor.dimensions = type.dims;
    tensor.dimensions.insert(tensor.dimensions.begin(), 4 - type.dims.size(), 1);
    tensor.strides = compute_strides(tensor.dimensions, TensorLayout::kChannelsFirst);
    return b_.graph().tensors.size() - 1;
  }

  std::size_t softmax(std::size_t scores) {
    constexpr auto kRows = AttentionBuilder::kRows;
    const std::size_t most = b_.reduced(abi::Reduction::kMax, scores, b_.between(kRows));
    const std::size_t shifted = b_.pointwise(Mode::kSubtract, scores, most);
    const std::size_t exponential = b_.pointwise(Mode::kExp, shifted, std::nullopt);
    const std::size_t total = b_.reduced(abi::Reduction::kAdd, exponential, b_.between(kRows));
    // Nothing reads these two, but by them cuDNN knows attention without a limit on its length.
    const std::size_t logarithm = b_.pointwise(Mode::kLog, total, std::nullopt, kRows);
    static_cast<void>(b_.pointwise(Mode::kAdd, most, logarithm, kRows));
    const std::size_t weights = b_.between(AttentionBuilder::kScores, b_.type());
    b_.append(Mode::kDivide, exponential, weights).operand = total;
    return weights;
  }

  const model::LayerSpec& spec_;
  model::AttentionShape s_;
  AttentionBuilder b_;
};

}  // namespace

TensorGraph attention_graph(const model::LayerSpec& spec) {
  if (spec.has_input(kPastKey)) {
    throw Unsupported("cuDNN's attention is not used with keys in two tensors");
  }
  if (spec.outputs.size() > 1) {
    throw Unsupported("cuDNN's attention is not used with keys and values as outputs");
  }
  return Translation(spec).run();
}

}  // namespace plumb::cuda
