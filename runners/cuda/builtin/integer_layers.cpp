// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/integer_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/operator_families.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBias = 2;  // of a convolution

}  // namespace

std::size_t StepChain::place(std::size_t buffer, Dimensions strides) {
  if (next_ >= static_cast<std::size_t>(kernels::kMaxOperands)) {
    throw Unsupported(fmt::format("more than {} operands of one kernel", kernels::kMaxOperands));
  }
  buffers_.push_back(buffer);
  strides_.push_back(std::move(strides));
  return next_++;
}

Dimensions StepChain::of_channels(std::size_t operand) const {
  const model::LayerSpec& spec = operands_.spec();
  Dimensions strides(operands_.output().dims.size(), 0);
  if (element_count(operands_.input(operand)) > 1) {
    (spec.op == "conv_integer" ? strides.at(1) : strides.back()) = 1;
  }
  return strides;
}

void StepChain::add_scaling(std::size_t scale, const Dimensions& strides) {
  add_combination("mul_of", scale, strides);
}

void StepChain::add_combination(const std::string& function,
                                std::size_t operand,
                                const Dimensions& strides) {
  real_.push_back(fmt::format("Combine<{}, {}, {}>",
                              function,
                              element_name(operands_.input(operand).dtype),
                              place(operands_.input_buffer(operand), strides)));
}

void StepChain::add_rounding(std::size_t scale,
                             std::optional<std::size_t> zero_point,
                             const Dimensions& strides) {
  const model::DataType grid = operands_.output().dtype;
  if (zero_point && operands_.input(*zero_point).dtype != grid) {
    throw Unsupported("a zero point of another type than its grid");
  }
  const std::size_t at = place(operands_.input_buffer(scale), strides);
  const std::size_t zero = zero_point ? place(operands_.input_buffer(*zero_point), strides) : 0;
  real_.push_back(fmt::format("Round<{}, {}, {}, {}>",
                              element_name(grid),
                              element_name(operands_.input(scale).dtype),
                              at,
                              zero));
}

void StepChain::add_function(const model::Epilogue& step) {
  if (step.fn == model::kBitMask || model::function_of_gradient(step.fn)) {
    throw Unsupported(fmt::format("'{}' behind a product of integers", step.fn));
  }
  if (step.operand) {
    const model::TensorType& other = operands_.input(*step.operand);
    add_combination(
        function_name(step.fn),
        *step.operand,
        broadcast_strides(
            other.dims, operands_.input_strides(*step.operand), operands_.output().dims));
    return;
  }
  if (functions_ == static_cast<std::size_t>(kernels::kMaxSteps)) {
    throw Unsupported(fmt::format("more than {} fused functions", kernels::kMaxSteps));
  }
  for (std::size_t i = 0; i < step.parameters.size() && i < 2; ++i) {
    parameters_.of[functions_][i] = step.parameters[i];
  }
  real_.push_back(fmt::format("Apply<{}, {}>", function_name(step.fn), functions_++));
}

void StepChain::add_result(const std::optional<ShiftedFactor>& shifted) {
  const model::LayerSpec& spec = operands_.spec();
  const model::QuantizedProduct at = model::quantized_product(spec);
  const Dimensions one(operands_.output().dims.size(), 0);
  if (shifted) {
    const std::size_t sums = place(shifted->sums, shifted->strides);
    const std::size_t zero =
        shifted->zero_point ? place(operands_.input_buffer(*shifted->zero_point), one) : 0;
    whole_.push_back(fmt::format("Unshift<{}, {}, {}, {}>",
                                 element_name(shifted->type),
                                 sums,
                                 zero,
                                 shifted->type == model::DataType::kU8 ? 128 : 0));
  }
  const bool has_bias = spec.op == "conv_integer" && spec.has_input(kBias);
  const bool real_bias = has_bias && model::is_floating(operands_.input(kBias).dtype);
  if (has_bias && !real_bias) {
    whole_.push_back(fmt::format("Combine<add_of, int, {}>",
                                 place(operands_.input_buffer(kBias), of_channels(kBias))));
  }
  if (spec.has_input(at.w_scale)) {
    add_scaling(at.x_scale, one);
    add_scaling(at.w_scale, of_channels(at.w_scale));
  }
  if (real_bias) {
    add_combination("add_of", kBias, of_channels(kBias));
  }
  for (const model::Epilogue& step : spec.epilogue) {
    add_function(step);
  }
  if (spec.has_input(at.y_scale)) {
    add_rounding(at.y_scale,
                 spec.has_input(at.y_zero_point) ? std::optional(at.y_zero_point) : std::nullopt,
                 one);
  }
}

std::string StepChain::compute() const {
  const model::LayerSpec& spec = operands_.spec();
  if (spec.has_input(model::quantized_product(spec).w_scale)) {
    return "float";
  }
  return spec.epilogue.empty() ? "Index" : "double";  // exact for all of s32
}

std::string StepChain::whole_text() const {
  return fmt::format("Steps<{}>", fmt::join(whole_, ", "));
}

std::string StepChain::real_text() const {
  return fmt::format("Steps<{}>", fmt::join(real_, ", "));
}

KernelLaunch launch_behind_sums(const model::LayerSpec& spec,
                                TensorLayout layout,
                                std::size_t sums,
                                const std::optional<StepChain::ShiftedFactor>& shifted) {
  const BuiltinLayer::Operands operands(spec, layout);
  StepChain chain(operands, 2);
  chain.add_result(shifted);
  std::vector<Dimensions> strides{operands.output_strides(), operands.output_strides()};
  strides.insert(strides.end(), chain.strides().begin(), chain.strides().end());
  std::vector<std::size_t> buffers{operands.output_buffer(), sums};
  buffers.insert(buffers.end(), chain.buffers().begin(), chain.buffers().end());
  kernels::StepShape shape{};
  shape.space = joined_space(operands.output().dims, strides);
  shape.parameters = chain.parameters();
  return element_launch(fmt::format("map_sums<{}, {}, {}, {}, {}>",
                                    chain.compute(),
                                    element_name(operands.output().dtype),
                                    chain.operand_count(),
                                    chain.whole_text(),
                                    chain.real_text()),
                        "StepShape",
                        shape,
                        shape.space.count,
                        std::move(buffers));
}

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
  explicit IntegerLaunch(const BuiltinLayer::Operands& of) : operands(of), chain(of, kBeforeSteps) {
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

  const BuiltinLayer::Operands& operands;
  StepChain chain;
};

}  // namespace

std::vector<KernelLaunch> multiply_integers(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> convolve_integers(const BuiltinLayer::Operands& operands) {
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

namespace {

constexpr std::size_t kScale = 1;
constexpr std::size_t kZeroPoint = 2;

/// Returns the strides of scales and zero points along x. There is one of each slice along the
/// axis, or one.
Dimensions grid_strides(const BuiltinLayer::Operands& operands) {
  Dimensions strides(operands.output().dims.size(), 0);
  if (element_count(operands.input(kScale)) > 1) {
    strides.at(static_cast<std::size_t>(operands.spec().integer("axis"))) = 1;
  }
  return strides;
}

/// Returns the name of the type that is computed in, which is as exact as x.
std::string compute_of(const BuiltinLayer::Operands& operands) {
  const model::DataType x = operands.input(0).dtype;
  const model::DataType scale = operands.input(kScale).dtype;
  const bool half = scale == model::DataType::kF16 || scale == model::DataType::kBf16;
  const bool wide = x == model::DataType::kF64 || x == model::DataType::kS32;
  if (wide && half) {
    throw Unsupported(fmt::format("{} with scales of {}", to_text(x), to_text(scale)));
  }
  return wide || scale == model::DataType::kF64 ? "double" : "float";
}

std::vector<KernelLaunch> mapped(const BuiltinLayer::Operands& operands, const StepChain& chain) {
  std::vector<Dimensions> strides{operands.output_strides(), operands.input_strides(0)};
  strides.insert(strides.end(), chain.strides().begin(), chain.strides().end());
  std::vector<std::size_t> buffers{operands.output_buffer(), operands.input_buffer(0)};
  buffers.insert(buffers.end(), chain.buffers().begin(), chain.buffers().end());
  kernels::StepShape shape{};
  shape.space = joined_space(operands.output().dims, strides);
  return {element_launch(fmt::format("map_steps<{}, {}, {}, {}, {}>",
                                     compute_of(operands),
                                     element_name(operands.output().dtype),
                                     element_name(operands.input(0).dtype),
                                     chain.operand_count(),
                                     chain.real_text()),
                         "StepShape",
                         shape,
                         shape.space.count,
                         std::move(buffers))};
}

}  // namespace

std::vector<KernelLaunch> map_quantize(const BuiltinLayer::Operands& operands) {
  StepChain chain(operands, 2);
  const bool shifted = operands.spec().has_input(kZeroPoint);
  chain.add_rounding(
      kScale, shifted ? std::optional(kZeroPoint) : std::nullopt, grid_strides(operands));
  return mapped(operands, chain);
}

std::vector<KernelLaunch> map_dequantize(const BuiltinLayer::Operands& operands) {
  StepChain chain(operands, 2);
  if (operands.spec().has_input(kZeroPoint)) {
    chain.add_combination("sub_of", kZeroPoint, grid_strides(operands));
  }
  chain.add_scaling(kScale, grid_strides(operands));
  return mapped(operands, chain);
}

}  // namespace plumb::cuda
