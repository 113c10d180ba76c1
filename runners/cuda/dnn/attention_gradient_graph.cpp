// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/attention_gradient_graph.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/cuda/dnn/attention_builder.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

using Mode = abi::PointwiseMode;

constexpr std::size_t kGradient = 0;
constexpr std::size_t kQuery = 1;
constexpr std::size_t kKey = 2;
constexpr std::size_t kValue = 3;
constexpr std::size_t kResult = 4;
constexpr std::size_t kStatistics = 5;

/// Translation of one layer into its graph, operation by operation.
class Translation {
 public:
  explicit Translation(const model::LayerSpec& spec)
      : spec_(spec),
        s_(model::attention_shape(model::forward_layer(spec))),
        b_(s_, attention_type(spec, kStatistics, 3)) {}

  GraphForm run() {
    const std::size_t dy = b_.operand(kGradient, s_.q_heads, s_.queries, s_.value_head);
    const std::size_t q = b_.operand(kQuery, s_.q_heads, s_.queries, s_.head);
    const std::size_t k = b_.operand(kKey, s_.kv_heads, s_.keys, s_.head);
    const std::size_t v = b_.operand(kValue, s_.kv_heads, s_.keys, s_.value_head);
    b_.turn(k);
    b_.turn(v);
    const std::size_t scale = b_.number(spec_.real("scale"));
    const std::size_t sums = gradient_sums(dy);
    const std::size_t weights = softmax(q, k, scale);
    write_gradient(2, b_.product(turned(weights), dy, gradient(2, s_.value_head)));
    const std::size_t scores = scores_gradient(dy, v, sums, weights, scale);
    write_gradient(1, b_.product(turned(scores), q, gradient(1, s_.head)));
    write_query_gradient(scores, k);
    form_.text = "graph=sdpa_backward";
    form_.inputs.assign(spec_.inputs.size(), TensorLayout::kChannelsFirst);
    form_.graph = std::move(b_.graph());
    return std::move(form_);
  }

 private:
  static constexpr auto kScores = AttentionBuilder::kScores;
  static constexpr auto kRows = AttentionBuilder::kRows;

  GraphTensor& tensor(std::size_t index) { return b_.graph().tensors.at(index); }

  /// Adds a virtual tensor, which is never in memory.
  std::size_t within(Dimensions dimensions, abi::Type type) {
    GraphTensor& made = b_.graph().tensors.emplace_back();
    made.type = type;
    made.strides = compute_strides(dimensions, TensorLayout::kChannelsFirst);
    made.dimensions = std::move(dimensions);
    made.is_virtual = true;
    return b_.graph().tensors.size() - 1;
  }

  /// Places an f32 tensor in an intermediate buffer of the plan, and returns its index.
  std::size_t in_memory(std::size_t index) {
    GraphTensor& made = tensor(index);
    made.is_virtual = false;
    made.operand = spec_.inputs.size() + spec_.outputs.size() + form_.made.size();
    model::TensorType type;
    type.dtype = model::DataType::kF32;
    type.dims = made.dimensions;
    form_.made.push_back(std::move(type));
    return index;
  }

  /// Adds a view of a tensor with its last two axes swapped.
  std::size_t turned(std::size_t index) {
    const GraphTensor from = tensor(index);
    const std::size_t view = within(from.dimensions, b_.type());
    tensor(view).strides = from.strides;
    b_.turn(view);
    b_.graph().operations.emplace_back(ReshapeOperation{index, view});
    return view;
  }

  std::size_t gradient_sums(std::size_t dy) {
    const std::size_t y = b_.operand(kResult, s_.q_heads, s_.queries, s_.value_head);
    const std::size_t products =
        within({s_.batch, s_.q_heads, s_.queries, s_.value_head}, abi::Type::kFloat);
    b_.append(Mode::kMultiply, dy, products).operand = y;
    const std::size_t rows = b_.reduced(abi::Reduction::kAdd, products, b_.between(kRows));
    const std::size_t one = b_.number(1.0);  // the pattern has a factor for dropout
    return in_memory(b_.pointwise(Mode::kMultiply, rows, one, kRows));
  }

  std::size_t softmax(std::size_t q, std::size_t k, std::size_t scale) {
    std::size_t scores = b_.product(q, k, b_.between(kScores));
    scores = b_.pointwise(Mode::kMultiply, scores, scale);
    const std::size_t statistics = b_.between(kRows);
    tensor(statistics).is_virtual = false;
    tensor(statistics).operand = kStatistics;
    scores = b_.pointwise(Mode::kSubtract, scores, statistics);
    scores = spec_.integer("causal") != 0 ? b_.causal(scores) : scores;
    return b_.pointwise(Mode::kExp, scores, std::nullopt);
  }

  std::size_t scores_gradient(
      std::size_t dy, std::size_t v, std::size_t sums, std::size_t weights, std::size_t scale) {
    std::size_t scores = b_.product(dy, v, b_.between(kScores));
    scores = b_.pointwise(Mode::kSubtract, scores, sums);
    scores = b_.pointwise(Mode::kMultiply, scores, weights);
    return b_.pointwise(Mode::kMultiply, scores, scale);
  }

  /// Adds the tensor to which a product writes the gradient of keys or values. It is the result or,
  /// where heads of queries share one, a tensor that is then summed into the result.
  std::size_t gradient(std::size_t result, std::int64_t numbers) {
    if (s_.q_heads == s_.kv_heads) {
      return result_of(result, s_.kv_heads, s_.keys, numbers);
    }
    return within({s_.batch, s_.q_heads, s_.keys, numbers}, b_.type());
  }

  void write_gradient(std::size_t result, std::size_t made) {
    if (s_.q_heads != s_.kv_heads) {
      const std::int64_t numbers = tensor(made).dimensions[3];
      b_.reduced(abi::Reduction::kAdd, made, result_of(result, s_.kv_heads, s_.keys, numbers));
    }
  }

  void write_query_gradient(std::size_t scores, std::size_t k) {
    const std::size_t keys = turned(k);
    const std::size_t sums =
        in_memory(within({s_.batch, s_.q_heads, s_.queries, s_.head}, abi::Type::kFloat));
    b_.product(scores, keys, sums);
    b_.append(Mode::kIdentity, sums, result_of(0, s_.q_heads, s_.queries, s_.head));
  }

  std::size_t result_of(std::size_t result,
                        std::int64_t heads,
                        std::int64_t length,
                        std::int64_t numbers) {
    const std::size_t index = b_.operand(std::nullopt, heads, length, numbers);
    tensor(index).result = result;
    return index;
  }

  const model::LayerSpec& spec_;
  model::AttentionShape s_;
  AttentionBuilder b_;
  GraphForm form_;
};

}  // namespace

GraphForm attention_gradient_form(const model::LayerSpec& spec) {
  if (spec.inputs.at(kStatistics)->dtype != model::DataType::kF32) {
    throw Unsupported("cuDNN takes attention's statistics only in f32");
  }
  return Translation(spec).run();
}

}  // namespace plumb::cuda
