// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/attention_builder.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "runners/cuda/dnn/cudnn_type.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

using Mode = abi::PointwiseMode;

std::size_t AttentionBuilder::operand(std::optional<std::size_t> index,
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

void AttentionBuilder::turn(std::size_t tensor) {
  GraphTensor& turned = graph_.tensors.at(tensor);
  std::swap(turned.dimensions[2], turned.dimensions[3]);
  std::swap(turned.strides[2], turned.strides[3]);
}

std::size_t AttentionBuilder::number(double value) {
  GraphTensor& tensor = graph_.tensors.emplace_back();
  tensor.dimensions = {1, 1, 1, 1};
  tensor.strides = {1, 1, 1, 1};
  tensor.value = static_cast<float>(value);
  return graph_.tensors.size() - 1;
}

std::size_t AttentionBuilder::between(Extent extent, abi::Type type) {
  GraphTensor& tensor = graph_.tensors.emplace_back();
  tensor.type = type;
  tensor.dimensions = {s_.batch, s_.q_heads, s_.queries, extent == kScores ? s_.keys : 1};
  tensor.strides = compute_strides(tensor.dimensions, TensorLayout::kChannelsFirst);
  tensor.is_virtual = true;
  return graph_.tensors.size() - 1;
}

std::size_t AttentionBuilder::product(std::size_t left, std::size_t right, std::size_t output) {
  graph_.operations.emplace_back(MatmulOperation{left, right, output});
  return output;
}

PointwiseOperation& AttentionBuilder::append(Mode mode, std::size_t input, std::size_t output) {
  PointwiseOperation step;
  step.mode = mode;
  step.input = input;
  step.output = output;
  return std::get<PointwiseOperation>(graph_.operations.emplace_back(step));
}

std::size_t AttentionBuilder::pointwise(Mode mode,
                                        std::size_t input,
                                        std::optional<std::size_t> other,
                                        Extent extent) {
  const std::size_t output = between(extent);
  append(mode, input, output).operand = other;
  return output;
}

std::size_t AttentionBuilder::reduced(abi::Reduction reduction,
                                      std::size_t input,
                                      std::size_t output) {
  graph_.operations.emplace_back(ReductionOperation{reduction, input, output});
  return output;
}

std::size_t AttentionBuilder::causal(std::size_t scores) {
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

abi::Type attention_type(const model::LayerSpec& spec, std::size_t operands, std::size_t outputs) {
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

}  // namespace plumb::cuda
