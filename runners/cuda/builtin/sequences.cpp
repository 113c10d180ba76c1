// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kOperands = 7;   // x, w, r, bias, h0, c0, peepholes
constexpr std::int64_t kMoreRows = 3;  // after the states: cell, what the reset left, first state

/// Returns the name of the cell in the kernels.
std::string cell_name(const model::LayerSpec& spec) {
  if (spec.op == "lstm") {
    return "LongCell";
  }
  if (spec.op == "gru") {
    return fmt::format("GatedCell<{}>", spec.integer("linear_before_reset") != 0);
  }
  return fmt::format("PlainCell<{}>", function_name(spec.text("fn")));
}

void check_types(const BuiltinLayer::Operands& operands) {
  const model::DataType type = operands.input(0).dtype;
  if (!model::is_floating(type)) {
    throw Unsupported(fmt::format("a recurrent layer of {}", to_text(type)));
  }
  for (std::size_t i = 0; i < operands.spec().inputs.size(); ++i) {
    if (operands.spec().has_input(i) && operands.input(i).dtype != type) {
      throw Unsupported("operands of different types");
    }
  }
}

/// Writer of the copies that take a layer's results out of the rows of states.
class Copies {
 public:
  Copies(const BuiltinLayer::Operands& operands, const model::RecurrentShape& shape)
      : operands_(operands),
        shape_(shape),
        time_first_(operands.spec().integer("layout") == 0),
        row_(shape.hidden),
        block_((shape.steps + kMoreRows) * shape.hidden) {}

  /// Copies all steps of a direction. A direction that starts at the end is written backwards.
  [[nodiscard]] KernelLaunch sequence(std::size_t output, std::int64_t direction) const {
    const bool reverse = direction == 1 || operands_.spec().text("direction") == "reverse";
    const std::int64_t entry = time_first_ ? row_ : shape_.steps * shape_.directions * row_;
    const std::int64_t step =
        time_first_ ? shape_.directions * shape_.batch * row_ : shape_.directions * row_;
    BuiltinLayer::MoveSide to{
        {reverse ? -step : step, entry, 1}, 0, operands_.output_buffer(output)};
    to.start = direction * (time_first_ ? shape_.batch * row_ : row_) +
               (reverse ? (shape_.steps - 1) * step : 0);
    const BuiltinLayer::MoveSide from{
        {row_, block_, 1}, direction * shape_.batch * block_, operands_.output_buffer(results())};
    return launch({shape_.steps, shape_.batch, shape_.hidden}, output, to, from);
  }

  /// Copies one row: a last state, or the cell.
  [[nodiscard]] KernelLaunch last(std::size_t output, std::int64_t row) const {
    const BuiltinLayer::MoveSide to{{time_first_ ? shape_.batch * row_ : row_,
                                     time_first_ ? row_ : shape_.directions * row_,
                                     1},
                                    0,
                                    operands_.output_buffer(output)};
    const BuiltinLayer::MoveSide from{
        {shape_.batch * block_, block_, 1}, row * row_, operands_.output_buffer(results())};
    return launch({shape_.directions, shape_.batch, shape_.hidden}, output, to, from);
  }

 private:
  [[nodiscard]] std::size_t results() const { return operands_.spec().outputs.size(); }

  [[nodiscard]] KernelLaunch launch(const Dimensions& extents,
                                    std::size_t output,
                                    const BuiltinLayer::MoveSide& to,
                                    const BuiltinLayer::MoveSide& from) const {
    kernels::MapShape shape{};
    shape.space = plain_space(extents, {to.strides, from.strides});
    shape.starts[0] = to.start;
    shape.starts[1] = from.start;
    return element_launch(fmt::format("copy_as<{}, {}>",
                                      compute_name(operands_.input(0).dtype),
                                      element_name(operands_.output(output).dtype)),
                          "MapShape",
                          shape,
                          shape.space.count,
                          {to.buffer, from.buffer});
  }

  const BuiltinLayer::Operands& operands_;
  const model::RecurrentShape& shape_;
  bool time_first_;
  std::int64_t row_;
  std::int64_t block_;  // rows of one entry and direction
};

}  // namespace

std::vector<model::TensorType> recurrent_scratch(const model::LayerSpec& spec) {
  const model::RecurrentShape shape = model::recurrent_shape(spec);
  const bool exact = spec.inputs.at(0).value().dtype == model::DataType::kF64;
  return {{exact ? model::DataType::kF64 : model::DataType::kF32,
           {shape.directions, shape.batch, shape.steps + kMoreRows, shape.hidden},
           false,
           {}}};
}

std::vector<KernelLaunch> recur(const BuiltinLayer::Operands& operands) {
  check_types(operands);
  const model::LayerSpec& spec = operands.spec();
  const model::RecurrentShape s = model::recurrent_shape(spec);
  if (s.steps == 0 || s.batch == 0 || s.hidden == 0) {
    throw Unsupported("a sequence without steps, entries or states");
  }
  const bool time_first = spec.integer("layout") == 0;
  kernels::RecurrentShape shape{};
  shape.directions = s.directions;
  shape.steps = s.steps;
  shape.batch = s.batch;
  shape.input = s.input;
  shape.hidden = s.hidden;
  shape.gates = s.gates;
  shape.x_strides[0] = time_first ? s.batch * s.input : s.input;
  shape.x_strides[1] = time_first ? s.input : s.steps * s.input;
  shape.state_strides[0] = time_first ? s.batch * s.hidden : s.hidden;
  shape.state_strides[1] = time_first ? s.hidden : s.directions * s.hidden;
  shape.reverse = spec.text("direction") == "reverse" ? 1 : 0;
  const auto given = [&](std::size_t index) { return spec.has_input(index) ? 1 : 0; };
  shape.has_bias = given(3);
  shape.has_state = given(4);
  shape.has_cell = given(5);
  shape.has_peephole = given(6);
  shape.gates_state = spec.op == "gru" && spec.integer("linear_before_reset") == 0 ? 1 : 0;
  std::vector<std::size_t> buffers{operands.output_buffer(spec.outputs.size())};
  for (std::size_t i = 0; i < kOperands; ++i) {
    buffers.push_back(operands.input_buffer(given(i) != 0 ? i : 0));
  }
  const model::DataType type = operands.input(0).dtype;
  std::vector<KernelLaunch> launches{block_launch(
      fmt::format("recurrent<{}, {}, {}>", cell_name(spec), compute_name(type), element_name(type)),
      "RecurrentShape",
      shape,
      s.directions * s.batch,
      std::move(buffers))};
  const Copies copies(operands, s);
  const std::string& letters = spec.text("outputs");
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == 'y') {
      for (std::int64_t direction = 0; direction < s.directions; ++direction) {
        launches.push_back(copies.sequence(i, direction));
      }
    } else {
      launches.push_back(copies.last(i, letters[i] == 'h' ? s.steps - 1 : s.steps));
    }
  }
  return launches;
}

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
std::string read_mask(const BuiltinLayer::Operands& operands,
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
                    const BuiltinLayer::Operands& operands,
                    const model::AttentionShape& s,
                    std::size_t output,
                    bool of_keys) {
  const std::int64_t numbers = of_keys ? s.head : s.value_head;
  const model::DataType type = operands.output(output).dtype;
  BuiltinLayer::MoveSide to{
      strides_along(true, s.kv_heads, s.keys, numbers), 0, operands.output_buffer(output)};
  to.strides.push_back(1);
  const auto append = [&](std::size_t operand, bool apart, std::int64_t length) {
    if (length == 0) {
      return;
    }
    if (operands.input(operand).dtype != type) {
      throw Unsupported("keys or values whose type changes");
    }
    BuiltinLayer::MoveSide from{
        strides_along(apart, s.kv_heads, length, numbers), 0, operands.input_buffer(operand)};
    from.strides.push_back(1);
    launches.push_back(move_launch(type, {s.batch, s.kv_heads, length, numbers}, to, from));
    to.start += length * numbers;
  };
  append(of_keys ? kPastKey : kPastValue, true, s.past);
  append(of_keys ? kKey : kValue, s.heads_apart, s.new_keys());
}

}  // namespace

std::vector<KernelLaunch> attend(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> attend_backward(const BuiltinLayer::Operands& operands) {
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
