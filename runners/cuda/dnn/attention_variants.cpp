// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

/// Builder of the graph of attention or its gradient, operation by operation. A function that makes
/// a tensor returns its index.
class AttentionBuilder {
 public:
  /// Extents of an intermediate tensor: one number per query and key, or one per query.
  enum Extent { kScores, kRows };

  /// Takes the layer's extents and the type of queries, keys and values.
  AttentionBuilder(const model::AttentionShape& shape, abi::CudnnCalls::Type type)
      : s_(shape), type_(type) {}

  [[nodiscard]] const model::AttentionShape& shape() const { return s_; }
  [[nodiscard]] abi::CudnnCalls::Type type() const { return type_; }
  [[nodiscard]] TensorGraph& graph() { return graph_; }

  /// Adds an operand or, without an index, a result. It lies as the layer has it: heads apart or
  /// together.
  std::size_t operand(std::optional<std::size_t> index,
                      std::int64_t heads,
                      std::int64_t length,
                      std::int64_t numbers);
  /// Swaps the last two axes of a tensor.
  void turn(std::size_t tensor);
  std::size_t number(double value);
  /// Adds a virtual tensor, which is never in memory.
  std::size_t between(Extent extent, abi::CudnnCalls::Type type = abi::CudnnCalls::Type::kFloat);

  std::size_t product(std::size_t left, std::size_t right, std::size_t output);
  TensorGraph::Pointwise& append(abi::CudnnCalls::PointwiseMode mode,
                                 std::size_t input,
                                 std::size_t output);
  std::size_t pointwise(abi::CudnnCalls::PointwiseMode mode,
                        std::size_t input,
                        std::optional<std::size_t> other,
                        Extent extent = kScores);
  std::size_t reduced(abi::CudnnCalls::Reduction reduction, std::size_t input, std::size_t output);
  /// Replaces the score of each key that comes after the query by the lowest number.
  std::size_t causal(std::size_t scores);

 private:
  model::AttentionShape s_;
  abi::CudnnCalls::Type type_;
  TensorGraph graph_;
};

using Mode = abi::CudnnCalls::PointwiseMode;

std::size_t AttentionBuilder::operand(std::optional<std::size_t> index,
                                      std::int64_t heads,
                                      std::int64_t length,
                                      std::int64_t numbers) {
  TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
  tensor.type = type_;
  tensor.operand = index;
  tensor.dimensions = {s_.batch, heads, length, numbers};
  tensor.strides = s_.heads_apart
                       ? Dimensions{heads * length * numbers, length * numbers, numbers, 1}
                       : Dimensions{length * heads * numbers, numbers, heads * numbers, 1};
  return graph_.tensors.size() - 1;
}

void AttentionBuilder::turn(std::size_t tensor) {
  TensorGraph::Tensor& turned = graph_.tensors.at(tensor);
  std::swap(turned.dimensions[2], turned.dimensions[3]);
  std::swap(turned.strides[2], turned.strides[3]);
}

std::size_t AttentionBuilder::number(double value) {
  TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
  tensor.dimensions = {1, 1, 1, 1};
  tensor.strides = {1, 1, 1, 1};
  tensor.value = static_cast<float>(value);
  return graph_.tensors.size() - 1;
}

std::size_t AttentionBuilder::between(Extent extent, abi::CudnnCalls::Type type) {
  TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
  tensor.type = type;
  tensor.dimensions = {s_.batch, s_.q_heads, s_.queries, extent == kScores ? s_.keys : 1};
  tensor.strides = compute_strides(tensor.dimensions, TensorLayout::kChannelsFirst);
  tensor.is_virtual = true;
  return graph_.tensors.size() - 1;
}

std::size_t AttentionBuilder::product(std::size_t left, std::size_t right, std::size_t output) {
  graph_.operations.emplace_back(TensorGraph::Matmul{left, right, output});
  return output;
}

TensorGraph::Pointwise& AttentionBuilder::append(Mode mode, std::size_t input, std::size_t output) {
  TensorGraph::Pointwise step;
  step.mode = mode;
  step.input = input;
  step.output = output;
  return std::get<TensorGraph::Pointwise>(graph_.operations.emplace_back(step));
}

std::size_t AttentionBuilder::pointwise(Mode mode,
                                        std::size_t input,
                                        std::optional<std::size_t> other,
                                        Extent extent) {
  const std::size_t output = between(extent);
  append(mode, input, output).operand = other;
  return output;
}

std::size_t AttentionBuilder::reduced(abi::CudnnCalls::Reduction reduction,
                                      std::size_t input,
                                      std::size_t output) {
  graph_.operations.emplace_back(TensorGraph::Reduction{reduction, input, output});
  return output;
}

std::size_t AttentionBuilder::causal(std::size_t scores) {
  const auto index = [&](std::int64_t axis) {
    const std::size_t output = between(kScores, abi::CudnnCalls::Type::kInt32);
    TensorGraph::Pointwise& step = append(Mode::kIndex, scores, output);
    step.axis = axis;
    step.compute = abi::CudnnCalls::Type::kInt32;
    return output;
  };
  const std::size_t query = index(2);
  const std::size_t key = index(3);
  const std::size_t seen = between(kScores, abi::CudnnCalls::Type::kBoolean);
  TensorGraph::Pointwise& comparison = append(Mode::kGreaterEqual, query, seen);
  comparison.operand = key;
  comparison.compute = abi::CudnnCalls::Type::kBoolean;
  const std::size_t lowest = number(std::numeric_limits<float>::lowest());
  const std::size_t output = between(kScores);
  TensorGraph::Pointwise& choice = append(Mode::kSelect, scores, output);
  choice.operand = lowest;
  choice.condition = seen;
  return output;
}

/// Returns the one type of a layer's tensors: f16 or bf16, as cuDNN's attention takes them. Throws
/// Unsupported for other types, and for tensors of several types.
[[nodiscard]] abi::CudnnCalls::Type attention_type(const model::LayerSpec& spec,
                                                   std::size_t operands,
                                                   std::size_t outputs) {
  const model::DataType type = spec.inputs.at(0)->dtype;
  for (std::size_t operand = 1; operand < operands; ++operand) {
    if (spec.inputs.at(operand)->dtype != type) {
      throw Unsupported("queries, keys and values of different types");
    }
  }
  for (std::size_t output = 0; output < outputs; ++output) {
    const model::DataType made = spec.outputs.at(output).dtype;
    if (made != type || (type != model::DataType::kF16 && type != model::DataType::kBf16)) {
      throw Unsupported(
          fmt::format("cuDNN is used for attention of f16 and bf16, not of {} into {}",
                      to_text(type),
                      to_text(made)));
    }
  }
  return cudnn_type(type);
}

constexpr std::size_t kGradient = 0;
constexpr std::size_t kQuery = 1;
constexpr std::size_t kKey = 2;
constexpr std::size_t kValue = 3;
constexpr std::size_t kResult = 4;
constexpr std::size_t kStatistics = 5;

/// Translation of one layer into its graph, operation by operation.
class GradientTranslation {
 public:
  explicit GradientTranslation(const model::LayerSpec& spec)
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

  TensorGraph::Tensor& tensor(std::size_t index) { return b_.graph().tensors.at(index); }

  /// Adds a virtual tensor, which is never in memory.
  std::size_t within(Dimensions dimensions, abi::CudnnCalls::Type type) {
    TensorGraph::Tensor& made = b_.graph().tensors.emplace_back();
    made.type = type;
    made.strides = compute_strides(dimensions, TensorLayout::kChannelsFirst);
    made.dimensions = std::move(dimensions);
    made.is_virtual = true;
    return b_.graph().tensors.size() - 1;
  }

  /// Places an f32 tensor in an intermediate buffer of the plan, and returns its index.
  std::size_t in_memory(std::size_t index) {
    TensorGraph::Tensor& made = tensor(index);
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
    const TensorGraph::Tensor from = tensor(index);
    const std::size_t view = within(from.dimensions, b_.type());
    tensor(view).strides = from.strides;
    b_.turn(view);
    b_.graph().operations.emplace_back(TensorGraph::Reshape{index, view});
    return view;
  }

  std::size_t gradient_sums(std::size_t dy) {
    const std::size_t y = b_.operand(kResult, s_.q_heads, s_.queries, s_.value_head);
    const std::size_t products =
        within({s_.batch, s_.q_heads, s_.queries, s_.value_head}, abi::CudnnCalls::Type::kFloat);
    b_.append(Mode::kMultiply, dy, products).operand = y;
    const std::size_t rows =
        b_.reduced(abi::CudnnCalls::Reduction::kAdd, products, b_.between(kRows));
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
      b_.reduced(
          abi::CudnnCalls::Reduction::kAdd, made, result_of(result, s_.kv_heads, s_.keys, numbers));
    }
  }

  void write_query_gradient(std::size_t scores, std::size_t k) {
    const std::size_t keys = turned(k);
    const std::size_t sums = in_memory(
        within({s_.batch, s_.q_heads, s_.queries, s_.head}, abi::CudnnCalls::Type::kFloat));
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
  return GradientTranslation(spec).run();
}

namespace {

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
    TensorGraph::Tensor& tensor = b_.graph().tensors.emplace_back();
    tensor.type = type.dtype == model::DataType::kF32 ? abi::CudnnCalls::Type::kFloat : b_.type();
    tensor.operand = kMask;
    tensor.dimensions = type.dims;
    tensor.dimensions.insert(tensor.dimensions.begin(), 4 - type.dims.size(), 1);
    tensor.strides = compute_strides(tensor.dimensions, TensorLayout::kChannelsFirst);
    return b_.graph().tensors.size() - 1;
  }

  std::size_t softmax(std::size_t scores) {
    constexpr auto kRows = AttentionBuilder::kRows;
    const std::size_t most =
        b_.reduced(abi::CudnnCalls::Reduction::kMax, scores, b_.between(kRows));
    const std::size_t shifted = b_.pointwise(Mode::kSubtract, scores, most);
    const std::size_t exponential = b_.pointwise(Mode::kExp, shifted, std::nullopt);
    const std::size_t total =
        b_.reduced(abi::CudnnCalls::Reduction::kAdd, exponential, b_.between(kRows));
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

namespace {

template <typename List>
std::vector<VariantBuilder> builders_or_none(const List& list) {
  try {
    return list();
  } catch (const Unsupported&) {
    return {};
  } catch (const CudnnLibrary::Refusal&) {
    return {};
  }
}

}  // namespace

GraphForm attention_form(const model::LayerSpec& spec) {
  return {"graph=sdpa",
          attention_graph(spec),
          std::vector<TensorLayout>(spec.inputs.size(), TensorLayout::kChannelsFirst),
          TensorLayout::kChannelsFirst,
          {}};
}

std::vector<VariantBuilder> attention_variants(const model::LayerSpec& spec,
                                               CudnnLibrary::Handle& handle) {
  return builders_or_none([&] { return graph_variants(spec, attention_form(spec), handle, {}); });
}

std::vector<VariantBuilder> attention_gradient_offers(const model::LayerSpec& spec,
                                                      CudnnLibrary::Handle& handle) {
  return builders_or_none([&] {
    require_sound_attention_gradient(spec, handle.library().version_number());
    return graph_variants(spec, attention_gradient_form(spec), handle, {});
  });
}

void require_sound_attention_gradient(const model::LayerSpec& spec, std::size_t version) {
  const model::AttentionShape shape = model::attention_shape(model::forward_layer(spec));
  if (version == 91000 || version == 91001) {
    throw Unsupported("attention's gradient by cuDNN 9.10.0 and 9.10.1, which have known faults");
  }
  if (version <= 91500 && shape.keys % 128 != 0) {
    throw Unsupported(
        "attention's gradient by cuDNN up to 9.15 with a number of keys that is not a multiple of "
        "128");
  }
  if (shape.queries == 1 && shape.keys == 1) {
    throw Unsupported("attention's gradient by cuDNN of one query and one key");
  }
}

}  // namespace plumb::cuda
