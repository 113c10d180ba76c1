// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/attention_graph.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "harness/model/attention_shape.hpp"
#include "runners/cuda/cudnn_type.hpp"
#include "runners/cuda/index_space.hpp"

namespace plumb::cuda {
namespace {

using Mode = abi::PointwiseMode;

constexpr std::size_t kMask = 3;
constexpr std::size_t kPastKey = 4;

abi::Type type_of(const LayerSpec& spec) {
  const DataType type = spec.inputs.at(0)->dtype;
  for (const std::size_t operand : {1U, 2U}) {
    if (spec.inputs.at(operand)->dtype != type) {
      throw Unsupported("queries, keys and values of different types");
    }
  }
  if (spec.outputs.at(0).dtype != type || (type != DataType::kF16 && type != DataType::kBf16)) {
    throw Unsupported(fmt::format("cuDNN is asked for attention of f16 and bf16, not of {} into {}",
                                  to_text(type),
                                  to_text(spec.outputs[0].dtype)));
  }
  return cudnn_type(type);
}

/// Makes the graph of one layer, operation by operation.
class Translation {
 public:
  explicit Translation(const LayerSpec& spec)
      : spec_(spec), s_(attention_shape(spec)), type_(type_of(spec)) {}

  TensorGraph run() {
    const std::size_t q = operand(0, s_.q_heads, s_.queries, s_.head);
    const std::size_t k = operand(1, s_.kv_heads, s_.keys, s_.head);
    // The second operand of the first product is the keys on their side.
    std::swap(graph_.tensors[k].dimensions[2], graph_.tensors[k].dimensions[3]);
    std::swap(graph_.tensors[k].strides[2], graph_.tensors[k].strides[3]);
    const std::size_t v = operand(2, s_.kv_heads, s_.keys, s_.value_head);
    std::size_t scores = between(kScores);
    graph_.operations.emplace_back(MatmulOperation{q, k, scores});
    scores = masked(capped(scores));
    const std::size_t weights = softmax(scores);
    const std::size_t result = operand(std::nullopt, s_.q_heads, s_.queries, s_.value_head);
    graph_.operations.emplace_back(MatmulOperation{weights, v, result});
    return std::move(graph_);
  }

 private:
  /// What lies between operations: a number a query and key, or a number a query.
  enum Extent { kScores, kRows };

  /// Adds an operand or the result, which lie as the layer has them: heads apart or together.
  std::size_t operand(std::optional<std::size_t> index,
                      std::int64_t heads,
                      std::int64_t length,
                      std::int64_t numbers) {
    GraphTensor& tensor = graph_.tensors.emplace_back();
    tensor.type = type_;
    tensor.operand = index;
    tensor.dimensions = {s_.batch, heads, length, numbers};
    tensor.strides = s_.heads_apart
                         ? Dimensions{heads * length * numbers, length * numbers, numbers, 1}
                         : Dimensions{length * heads * numbers, numbers, heads * numbers, 1};
    return graph_.tensors.size() - 1;
  }

  std::size_t between(Extent extent, abi::Type type = abi::Type::kFloat) {
    GraphTensor& tensor = graph_.tensors.emplace_back();
    tensor.type = type;
    tensor.dimensions = {s_.batch, s_.q_heads, s_.queries, extent == kScores ? s_.keys : 1};
    tensor.strides = strides_of(tensor.dimensions, TensorLayout::kChannelsFirst);
    tensor.is_virtual = true;
    return graph_.tensors.size() - 1;
  }

  std::size_t number(double value) {
    GraphTensor& tensor = graph_.tensors.emplace_back();
    tensor.dimensions = {1, 1, 1, 1};
    tensor.strides = {1, 1, 1, 1};
    tensor.value = static_cast<float>(value);
    return graph_.tensors.size() - 1;
  }

  PointwiseOperation& append(Mode mode, std::size_t input, std::size_t output) {
    PointwiseOperation step;
    step.mode = mode;
    step.input = input;
    step.output = output;
    return std::get<PointwiseOperation>(graph_.operations.emplace_back(step));
  }

  std::size_t pointwise(Mode mode,
                        std::size_t input,
                        std::optional<std::size_t> other,
                        Extent extent = kScores) {
    const std::size_t output = between(extent);
    append(mode, input, output).operand = other;
    return output;
  }

  std::size_t capped(std::size_t scores) {
    const double cap = spec_.real("softcap");
    const double scale = spec_.real("scale");
    if (cap <= 0.0) {
      return pointwise(Mode::kMultiply, scores, number(scale));
    }
    scores = pointwise(Mode::kMultiply, scores, number(scale / cap));
    scores = pointwise(Mode::kTanh, scores, std::nullopt);
    return pointwise(Mode::kMultiply, scores, number(cap));
  }

  std::size_t masked(std::size_t scores) {
    if (spec_.has_input(kMask)) {
      scores = pointwise(Mode::kAdd, scores, mask());
    }
    return spec_.integer("causal") != 0 ? causal(scores) : scores;
  }

  std::size_t mask() {
    const TensorType& type = *spec_.inputs[kMask];
    if (type.dtype != spec_.inputs[0]->dtype && type.dtype != DataType::kF32) {
      throw Unsupported(
          fmt::format("cuDNN's attention is not asked for with a mask of {}", to_text(type.dtype)));
    }
    GraphTensor& tensor = graph_.tensors.emplace_back();
    tensor.type = type.dtype == DataType::kF32 ? abi::Type::kFloat : type_;
    tensor.operand = kMask;
    tensor.dimensions = type.dims;
    tensor.dimensions.insert(tensor.dimensions.begin(), 4 - type.dims.size(), 1);
    tensor.strides = strides_of(tensor.dimensions, TensorLayout::kChannelsFirst);
    return graph_.tensors.size() - 1;
  }

  /// Takes the lowest number for the score of a key behind the query's own.
  std::size_t causal(std::size_t scores) {
    const auto index = [&](std::int64_t axis) {
      const std::size_t output = between(kScores, abi::Type::kInt32);
      PointwiseOperation& step = append(Mode::kIndex, scores, output);
      step.axis = axis;
      step.compute = abi::Type::kInt32;
      return output;
    };
    const std::size_t query = index(2);
    const std::size_t key = index(3);
    const std::size_t seen = between(kScores, abi::Type::kBoolean);
    PointwiseOperation& comparison = append(Mode::kGreaterEqual, query, seen);
    comparison.operand = key;
    comparison.compute = abi::Type::kBoolean;
    const std::size_t lowest = number(std::numeric_limits<float>::lowest());
    const std::size_t output = between(kScores);
    PointwiseOperation& choice = append(Mode::kSelect, scores, output);
    choice.operand = lowest;
    choice.condition = seen;
    return output;
  }

  std::size_t reduced(abi::Reduction reduction, std::size_t input) {
    const std::size_t output = between(kRows);
    graph_.operations.emplace_back(ReductionOperation{reduction, input, output});
    return output;
  }

  std::size_t softmax(std::size_t scores) {
    const std::size_t most = reduced(abi::Reduction::kMax, scores);
    const std::size_t shifted = pointwise(Mode::kSubtract, scores, most);
    const std::size_t exponential = pointwise(Mode::kExp, shifted, std::nullopt);
    const std::size_t total = reduced(abi::Reduction::kAdd, exponential);
    // Nobody reads them, but by these two cuDNN knows attention without a limit on its length.
    const std::size_t logarithm = pointwise(Mode::kLog, total, std::nullopt, kRows);
    static_cast<void>(pointwise(Mode::kAdd, most, logarithm, kRows));
    const std::size_t weights = between(kScores, type_);
    append(Mode::kDivide, exponential, weights).operand = total;
    return weights;
  }

  const LayerSpec& spec_;
  AttentionShape s_;
  abi::Type type_;
  TensorGraph graph_;
};

}  // namespace

TensorGraph attention_graph(const LayerSpec& spec) {
  if (spec.has_input(kPastKey)) {
    throw Unsupported("cuDNN's attention is not asked for with keys in two tensors");
  }
  if (spec.outputs.size() > 1) {
    throw Unsupported("cuDNN's attention is not asked for keys and values as outputs");
  }
  return Translation(spec).run();
}

}  // namespace plumb::cuda
