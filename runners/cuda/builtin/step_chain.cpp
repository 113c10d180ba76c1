// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/step_chain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/quantized_product.hpp"

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
                                const std::optional<ShiftedFactor>& shifted) {
  const OwnOperands operands(spec, layout);
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

}  // namespace plumb::cuda
