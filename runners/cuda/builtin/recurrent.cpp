// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "harness/model/key/sequence_shapes.hpp"
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

void check_types(const OwnOperands& operands) {
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
  Copies(const OwnOperands& operands, const model::RecurrentShape& shape)
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
    MoveSide to{{reverse ? -step : step, entry, 1}, 0, operands_.output_buffer(output)};
    to.start = direction * (time_first_ ? shape_.batch * row_ : row_) +
               (reverse ? (shape_.steps - 1) * step : 0);
    const MoveSide from{
        {row_, block_, 1}, direction * shape_.batch * block_, operands_.output_buffer(results())};
    return launch({shape_.steps, shape_.batch, shape_.hidden}, output, to, from);
  }

  /// Copies one row: a last state, or the cell.
  [[nodiscard]] KernelLaunch last(std::size_t output, std::int64_t row) const {
    const MoveSide to{{time_first_ ? shape_.batch * row_ : row_,
                       time_first_ ? row_ : shape_.directions * row_,
                       1},
                      0,
                      operands_.output_buffer(output)};
    const MoveSide from{
        {shape_.batch * block_, block_, 1}, row * row_, operands_.output_buffer(results())};
    return launch({shape_.directions, shape_.batch, shape_.hidden}, output, to, from);
  }

 private:
  [[nodiscard]] std::size_t results() const { return operands_.spec().outputs.size(); }

  [[nodiscard]] KernelLaunch launch(const Dimensions& extents,
                                    std::size_t output,
                                    const MoveSide& to,
                                    const MoveSide& from) const {
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

  const OwnOperands& operands_;
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

std::vector<KernelLaunch> recur(const OwnOperands& operands) {
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

}  // namespace plumb::cuda
