// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/key/sequence_shapes.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

enum Operand : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue };

/// Returns the strides of a tensor along batch, heads and positions.
Dimensions strides_along(bool heads_apart,
                         std::int64_t heads,
                         std::int64_t length,
                         std::int64_t numbers) {
  return heads_apart ? Dimensions{heads * length * numbers, length * numbers, numbers}
                     : Dimensions{length * heads * numbers, numbers, heads * numbers};
}

void write(kernels::Index (&to)[3], const Dimensions& from) {
  std::copy(from.begin(), from.end(), to);
}

kernels::AttentionShape shape_of(const model::LayerSpec& spec, const model::AttentionShape& s) {
  kernels::AttentionShape shape{};
  shape.rows = s.batch * s.q_heads * s.queries;
  shape.q_heads = s.q_heads;
  shape.kv_heads = s.kv_heads;
  shape.queries = s.queries;
  shape.past = s.past;
  shape.keys = s.keys;
  shape.head = s.head;
  shape.value_head = s.value_head;
  write(shape.strides[0], strides_along(s.heads_apart, s.q_heads, s.queries, s.value_head));
  write(shape.strides[1], strides_along(s.heads_apart, s.q_heads, s.queries, s.head));
  write(shape.strides[2], strides_along(s.heads_apart, s.kv_heads, s.new_keys(), s.head));
  write(shape.strides[3], strides_along(s.heads_apart, s.kv_heads, s.new_keys(), s.value_head));
  write(shape.strides[5], strides_along(true, s.kv_heads, s.past, s.head));
  write(shape.strides[6], strides_along(true, s.kv_heads, s.past, s.value_head));
  shape.causal = static_cast<int>(spec.integer("causal"));
  shape.scale = spec.real("scale");
  shape.softcap = spec.real("softcap");
  return shape;
}

void require_few_numbers(std::int64_t numbers, const char* of) {
  if (numbers > std::int64_t{kernels::kValuesOfThread} * kernels::kThreadsOfRow) {
    throw Unsupported(fmt::format("{} of {} numbers", of, numbers));
  }
}

/// Reads the mask into `shape`. Returns the name of its type in the kernels.
std::string read_mask(const OwnOperands& operands,
                      const model::AttentionShape& s,
                      kernels::AttentionShape& shape) {
  if (!operands.spec().has_input(kMask)) {
    return element_name(operands.input(kQuery).dtype);
  }
  const model::TensorType& mask = operands.input(kMask);
  const Dimensions strides =
      broadcast_strides(mask.dims,
                        compute_strides(mask.dims, TensorLayout::kChannelsFirst),
                        {s.batch, s.q_heads, s.queries, s.keys});
  write(shape.mask_strides, Dimensions(strides.begin(), strides.end() - 1));
  shape.mask = mask.dtype == model::DataType::kBool ? 2 : 1;
  if (shape.mask == 1 && !model::is_floating(mask.dtype)) {
    throw Unsupported(fmt::format("a mask of {}", to_text(mask.dtype)));
  }
  if (compute_name(operands.input(kQuery).dtype) == "double" &&
      model::element_bytes(mask.dtype) == 2) {
    throw Unsupported(fmt::format("queries of f64 with a mask of {}", to_text(mask.dtype)));
  }
  return shape.mask == 2 ? "unsigned char" : element_name(mask.dtype);
}

/// Appends the launches that copy the keys or values of all steps: those of earlier ones, then the
/// new.
void append_present(std::vector<KernelLaunch>& launches,
                    const OwnOperands& operands,
                    const model::AttentionShape& s,
                    std::size_t output,
                    bool of_keys) {
  const std::int64_t numbers = of_keys ? s.head : s.value_head;
  const model::DataType type = operands.output(output).dtype;
  MoveSide to{strides_along(true, s.kv_heads, s.keys, numbers), 0, operands.output_buffer(output)};
  to.strides.push_back(1);
  const auto append = [&](std::size_t operand, bool apart, std::int64_t length) {
    if (length == 0) {
      return;
    }
    if (operands.input(operand).dtype != type) {
      throw Unsupported("keys or values whose type changes");
    }
    MoveSide from{
        strides_along(apart, s.kv_heads, length, numbers), 0, operands.input_buffer(operand)};
    from.strides.push_back(1);
    launches.push_back(move_launch(type, {s.batch, s.kv_heads, length, numbers}, to, from));
    to.start += length * numbers;
  };
  append(of_keys ? kPastKey : kPastValue, true, s.past);
  append(of_keys ? kKey : kValue, s.heads_apart, s.new_keys());
}

}  // namespace

std::vector<KernelLaunch> attend(const OwnOperands& operands) {
  const model::LayerSpec& spec = operands.spec();
  const model::TensorType& q = operands.input(kQuery);
  for (const std::size_t other : {kKey, kValue, kPastKey, kPastValue}) {
    if (spec.has_input(other) && operands.input(other).dtype != q.dtype) {
      throw Unsupported("queries, keys and values of different types");
    }
  }
  if (!model::is_floating(q.dtype) || operands.output().dtype != q.dtype) {
    throw Unsupported(
        fmt::format("attention of {} into {}", to_text(q.dtype), to_text(operands.output().dtype)));
  }
  const model::AttentionShape s = model::attention_shape(spec);
  require_few_numbers(s.value_head, "values");
  kernels::AttentionShape shape = shape_of(spec, s);
  const std::string mask = read_mask(operands, s, shape);
  const auto buffer = [&](std::size_t operand) {
    return operands.input_buffer(spec.has_input(operand) ? operand : kQuery);
  };
  std::vector<KernelLaunch> launches{block_launch(
      fmt::format("attention<{}, {}, {}>", compute_name(q.dtype), element_name(q.dtype), mask),
      "AttentionShape",
      shape,
      shape.rows,
      {operands.output_buffer(),
       buffer(kQuery),
       buffer(kKey),
       buffer(kValue),
       buffer(kPastKey),
       buffer(kPastValue),
       buffer(kMask)})};
  const std::string& letters = spec.text("outputs");
  for (std::size_t i = 1; i < letters.size(); ++i) {
    append_present(launches, operands, s, i, letters[i] == 'k');
  }
  return launches;
}

std::vector<KernelLaunch> attend_backward(const OwnOperands& operands) {
  enum Gradient : std::size_t { kResultGradient, kQueries, kKeys, kValues, kResult, kStatistics };
  const model::DataType type = operands.input(kResultGradient).dtype;
  for (const std::size_t other : {kQueries, kKeys, kValues, kResult}) {
    if (operands.input(other).dtype != type) {
      throw Unsupported("a gradient of attention of several types");
    }
  }
  for (std::size_t output = 0; output < 3; ++output) {
    if (operands.output(output).dtype != type || !model::is_floating(type)) {
      throw Unsupported(fmt::format("a gradient of attention of {} into {}",
                                    to_text(type),
                                    to_text(operands.output(output).dtype)));
    }
  }
  const model::DataType statistics = operands.input(kStatistics).dtype;
  if (statistics !=
      (type == model::DataType::kF64 ? model::DataType::kF64 : model::DataType::kF32)) {
    throw Unsupported(
        fmt::format("statistics of {} beside {}", to_text(statistics), to_text(type)));
  }
  const model::LayerSpec forward = model::forward_layer(operands.spec());
  const model::AttentionShape s = model::attention_shape(forward);
  require_few_numbers(s.head, "queries");
  require_few_numbers(s.value_head, "values");
  const std::string types =
      fmt::format("{}, {}, {}", compute_name(type), element_name(type), element_name(statistics));
  kernels::AttentionShape shape = shape_of(forward, s);
  const auto launch = [&](const char* call, std::vector<std::size_t> results) {
    for (std::size_t operand = 0; operand <= kStatistics; ++operand) {
      results.push_back(operands.input_buffer(operand));
    }
    return block_launch(
        fmt::format("{}<{}>", call, types), "AttentionShape", shape, shape.rows, results);
  };
  std::vector<KernelLaunch> launches{
      launch("attention_query_gradient", {operands.output_buffer(0)})};
  shape.rows = s.batch * s.kv_heads * s.keys;
  launches.push_back(
      launch("attention_key_gradient", {operands.output_buffer(1), operands.output_buffer(2)}));
  launches.back().outputs = 2;
  return launches;
}

}  // namespace plumb::cuda
