// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "harness/model/key/quantized_product.hpp"
#include "runners/cuda/builtin/step_chain.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBeforeSteps = 5;  // operands of the kernels: y, two factors, zero points

/// Returns the extents of an operand as matrices. As in numpy, a vector is one row on the left, one
/// column on the right.
Dimensions matrices(const model::TensorType& type, bool left) {
  Dimensions dims = type.dims;
  if (dims.size() == 1) {
    dims.insert(left ? dims.begin() : dims.end(), 1);
  }
  return dims;
}

bool is_byte(model::DataType type) {
  return type == model::DataType::kS8 || type == model::DataType::kU8;
}

/// Part of a launch that kernels for products and for convolutions of integers share.
struct IntegerLaunch {
  explicit IntegerLaunch(const OwnOperands& of) : operands(of), chain(of, kBeforeSteps) {
    const model::TensorType& a = operands.input(0);
    const model::TensorType& b = operands.input(1);
    if (!is_byte(a.dtype) || !is_byte(b.dtype)) {
      throw Unsupported(fmt::format("integers of {} and {}", to_text(a.dtype), to_text(b.dtype)));
    }
    chain.add_result(std::nullopt);
  }

  /// Makes the launch. It completes `shape`, and adds the buffers, the zero points and the steps.
  template <typename Shape>
  KernelLaunch launched(const char* kernel, const char* shape_type, Shape shape) const {
    std::vector<std::size_t> buffers{
        operands.output_buffer(), operands.input_buffer(0), operands.input_buffer(1)};
    const std::size_t first = model::quantized_product(operands.spec()).x_zero_point;
    for (const std::size_t which : {0U, 1U}) {
      const bool given = operands.spec().has_input(first + which);
      if (given && operands.input(first + which).dtype != operands.input(which).dtype) {
        throw Unsupported("a zero point of another type than its operand");
      }
      shape.has_zero[which] = given ? 1 : 0;
      buffers.push_back(operands.input_buffer(given ? first + which : which));
    }
    buffers.insert(buffers.end(), chain.buffers().begin(), chain.buffers().end());
    shape.parameters = chain.parameters();
    return element_launch(fmt::format("{}<{}, {}, {}, {}, {}, {}, {}>",
                                      kernel,
                                      element_name(operands.input(0).dtype),
                                      element_name(operands.input(1).dtype),
                                      chain.compute(),
                                      element_name(operands.output().dtype),
                                      chain.operand_count(),
                                      chain.whole_text(),
                                      chain.real_text()),
                          shape_type,
                          shape,
                          shape.space.count,
                          std::move(buffers));
  }

  const OwnOperands& operands;
  StepChain chain;
};

}  // namespace

std::vector<KernelLaunch> multiply_integers(const OwnOperands& operands) {
  const IntegerLaunch launch(operands);
  const model::TensorType& a = operands.input(0);
  const model::TensorType& b = operands.input(1);
  Dimensions left = matrices(a, true);
  Dimensions right = matrices(b, false);
  /// Adds to a result the axes that it would have if its vector operands were matrices.
  const auto with_both_axes = [&](Dimensions result, std::int64_t filler) {
    if (b.dims.size() == 1) {
      result.push_back(filler);
    }
    if (a.dims.size() == 1) {
      result.insert(result.end() - 1, filler);
    }
    return result;
  };
  const Dimensions result = with_both_axes(operands.output().dims, 1);
  const Dimensions left_strides = compute_strides(left, TensorLayout::kChannelsFirst);
  const Dimensions right_strides = compute_strides(right, TensorLayout::kChannelsFirst);
  kernels::ProductShape shape{};
  shape.depth = left.back();
  shape.steps[0] = left_strides.back();
  shape.steps[1] = right_strides.end()[-2];
  // An element of the result has no position along the axis that is summed.
  left.back() = 1;
  right.end()[-2] = 1;
  const Dimensions nowhere(result.size(), 0);  // a zero point is one number
  std::vector<Dimensions> strides{compute_strides(result, TensorLayout::kChannelsFirst),
                                  broadcast_strides(left, left_strides, result),
                                  broadcast_strides(right, right_strides, result),
                                  nowhere,
                                  nowhere};
  for (const Dimensions& own : launch.chain.strides()) {
    strides.push_back(with_both_axes(own, 0));
  }
  shape.space = joined_space(result, strides);
  return {launch.launched("integer_product", "ProductShape", shape)};
}

std::vector<KernelLaunch> convolve_integers(const OwnOperands& operands) {
  const IntegerLaunch launch(operands);
  const model::LayerSpec& spec = operands.spec();
  const model::TensorType& x = operands.input(0);
  const model::TensorType& w = operands.input(1);
  const model::TensorType& y = operands.output();
  if (x.dims.size() < 3 || x.dims.size() > 5) {
    throw Unsupported(fmt::format("an input of rank {}", x.dims.size()));
  }
  const std::size_t missing = 5 - x.dims.size();
  const auto with_three_axes = [&](Dimensions values, std::int64_t filler) {
    values.insert(values.begin() + 2, missing, filler);
    return values;
  };
  const Dimensions x_strides = with_three_axes(operands.input_strides(0), 0);
  const Dimensions w_strides = with_three_axes(operands.input_strides(1), 0);
  const std::size_t w_zero = model::quantized_product(spec).w_zero_point;
  const bool each_zero = spec.has_input(w_zero) && element_count(operands.input(w_zero)) > 1;
  std::vector<Dimensions> strides{with_three_axes(operands.output_strides(), 0),
                                  {x_strides[0], 0, 0, 0, 0},
                                  {0, w_strides[0], 0, 0, 0},
                                  {0, 0, 0, 0, 0},
                                  {0, each_zero ? 1 : 0, 0, 0, 0}};
  for (const Dimensions& own : launch.chain.strides()) {
    strides.push_back(with_three_axes(own, 0));
  }
  kernels::WindowShape shape{};
  shape.space = plain_space(with_three_axes(y.dims, 1), strides);
  for (std::size_t to = 0; to < 3; ++to) {
    const bool given = to >= missing;
    const std::size_t axis = given ? to - missing : 0;
    const auto value = [&](const char* name) { return given ? spec.integers(name).at(axis) : 1; };
    shape.in[to] = given ? x.dims[axis + 2] : 1;
    shape.kernel[to] = given ? w.dims.at(axis + 2) : 1;
    shape.strides[to] = value("strides");
    shape.dilations[to] = value("dilations");
    shape.pads[to] = given ? spec.integers("pads").at(axis) : 0;
  }
  for (std::size_t axis = 0; axis < std::size(shape.image_steps); ++axis) {
    shape.image_steps[axis] = x_strides[axis + 1];
    shape.filter_steps[axis] = w_strides[axis + 1];
  }
  shape.channels = w.dims.at(1);
  shape.group_filters = y.dims.at(1) / std::max<std::int64_t>(spec.integer("group"), 1);
  return {launch.launched("integer_convolution", "WindowShape", shape)};
}

}  // namespace plumb::cuda
