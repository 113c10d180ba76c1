// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/lt_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::cuda {

abi::LtType lt_type(model::DataType type) {
  switch (type) {
    case model::DataType::kF64:
      return abi::LtType::kF64;
    case model::DataType::kF16:
      return abi::LtType::kF16;
    case model::DataType::kBf16:
      return abi::LtType::kBf16;
    case model::DataType::kS8:
      return abi::LtType::kS8;
    case model::DataType::kS32:
      return abi::LtType::kS32;
    case model::DataType::kF8E4M3:
      return abi::LtType::kF8E4M3;
    case model::DataType::kF8E5M2:
      return abi::LtType::kF8E5M2;
    default:
      return abi::LtType::kF32;
  }
}

std::pair<abi::LtCompute, abi::LtType> computation_of(const GemmProblem& problem) {
  switch (problem.d.type) {
    case model::DataType::kF64:
      return {abi::LtCompute::kF64, abi::LtType::kF64};
    case model::DataType::kS32:
      return {abi::LtCompute::kS32, abi::LtType::kS32};
    default:
      return {problem.tf32 ? abi::LtCompute::kF32AsTf32 : abi::LtCompute::kF32, abi::LtType::kF32};
  }
}

abi::LtEpilogue epilogue_of(const GemmProblem& problem) {
  using Activation = GemmProblem::Activation;
  const bool bias = problem.bias.has_value();
  const bool gradient = problem.bias_gradient.has_value();
  switch (problem.activation) {
    case Activation::kReluGradient:
      return gradient ? abi::LtEpilogue::kReluGradientBias : abi::LtEpilogue::kReluGradient;
    case Activation::kGeluTanhGradient:
      return gradient ? abi::LtEpilogue::kGeluGradientBias : abi::LtEpilogue::kGeluGradient;
    case Activation::kRelu:
      return bias ? abi::LtEpilogue::kReluBias : abi::LtEpilogue::kRelu;
    case Activation::kGeluTanh:
      return bias ? abi::LtEpilogue::kGeluBias : abi::LtEpilogue::kGelu;
    case Activation::kNone:
      break;
  }
  if (gradient) {
    return problem.summed == GemmProblem::Summed::kA ? abi::LtEpilogue::kBiasGradientA
                                                     : abi::LtEpilogue::kBiasGradientB;
  }
  return bias ? abi::LtEpilogue::kBias : abi::LtEpilogue::kDefault;
}

namespace {

OwnedDescriptor matrix(const CublasLibrary& library, const GemmMatrix& value, std::int64_t batch) {
  abi::LtDescriptor handle = nullptr;
  library.check(library.calls().matrix_create(&handle,
                                              lt_type(value.type),
                                              static_cast<std::uint64_t>(value.rows),
                                              static_cast<std::uint64_t>(value.columns),
                                              value.leading),
                "a matrix");
  OwnedDescriptor owned(handle, library.calls().matrix_destroy);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    library.check(library.calls().matrix_set(
                      handle, abi::LtMatrixAttribute::kBatchCount, &count, sizeof count),
                  "a matrix's batch");
    library.check(library.calls().matrix_set(handle,
                                             abi::LtMatrixAttribute::kBatchStride,
                                             &value.batch_stride,
                                             sizeof value.batch_stride),
                  "a matrix's batch stride");
  }
  return owned;
}

OwnedDescriptor product(const CublasLibrary& library, const GemmProblem& problem) {
  const auto [compute, scale] = computation_of(problem);
  abi::LtDescriptor handle = nullptr;
  library.check(library.calls().product_create(&handle, compute, scale), "a product");
  OwnedDescriptor owned(handle, library.calls().product_destroy);
  const auto operation = [](const GemmMatrix& value) {
    return value.transposed ? abi::LtOperation::kTranspose : abi::LtOperation::kNone;
  };
  const abi::LtOperation a = operation(problem.a);
  const abi::LtOperation b = operation(problem.b);
  const abi::LtEpilogue epilogue = epilogue_of(problem);
  set_attribute(library, handle, abi::LtProductAttribute::kTransposeA, &a, sizeof a);
  set_attribute(library, handle, abi::LtProductAttribute::kTransposeB, &b, sizeof b);
  set_attribute(library, handle, abi::LtProductAttribute::kEpilogue, &epilogue, sizeof epilogue);
  if (problem.fast_accumulation) {
    constexpr std::int8_t kOn = 1;
    set_attribute(library, handle, abi::LtProductAttribute::kFastAccumulation, &kOn, sizeof kOn);
  }
  if (problem.saved) {
    const std::int64_t leading = problem.saved->leading;
    set_attribute(library, handle, abi::LtProductAttribute::kAuxLeading, &leading, sizeof leading);
  }
  return owned;
}

}  // namespace

void set_attribute(const CublasLibrary& library,
                   abi::LtDescriptor product,
                   abi::LtProductAttribute name,
                   const void* value,
                   std::size_t size) {
  library.check(library.calls().product_set(product, name, value, size), "a product's attribute");
}

LtProduct lt_product(const CublasLibrary& library, const GemmProblem& problem) {
  GemmMatrix c = problem.c.value_or(problem.d);
  c.batch_stride = problem.d.batch_stride;
  return {product(library, problem),
          matrix(library, problem.a, problem.batch),
          matrix(library, problem.b, problem.batch),
          matrix(library, c, problem.batch),
          matrix(library, problem.d, problem.batch)};
}

Factor factor(double value, model::DataType type) {
  if (type == model::DataType::kF64) {
    return value;
  }
  return type == model::DataType::kS32 ? Factor(static_cast<std::int32_t>(value))
                                       : Factor(static_cast<float>(value));
}

const void* address_of(const Factor& factor) {
  return std::visit([](const auto& value) -> const void* { return &value; }, factor);
}

ExecutionPlan begin_product_plan(const model::LayerSpec& spec,
                                 const GemmProblem& problem,
                                 const KernelStep& kernel) {
  constexpr TensorLayout kLayout = TensorLayout::kChannelsFirst;
  ExecutionPlan plan = begin_plan(spec,
                                  std::vector<TensorLayout>(spec.inputs.size(), kLayout),
                                  std::vector<TensorLayout>(spec.outputs.size(), kLayout));
  add_scratch_buffers(plan, problem.made);
  for (const BuiltinStep& step : problem.before) {
    const auto first = static_cast<std::ptrdiff_t>(plan.steps.size());
    append_builtin_steps(plan, {step}, kLayout, kernel);
    const bool constant =
        std::all_of(step.inputs.begin(), step.inputs.end(), [&](std::size_t input) {
          return plan.buffers[input].weight;
        });
    DeviceBuffer& made = plan.buffers.at(step.output);
    // What is made of constant operands alone is made when bound, outside the timed part.
    if (constant && made.role == DeviceBuffer::Role::kIntermediate) {
      made.weight = true;
      std::move(plan.steps.begin() + first, plan.steps.end(), std::back_inserter(plan.once));
      plan.steps.erase(plan.steps.begin() + first, plan.steps.end());
    }
  }
  return plan;
}

void append_product(
    ExecutionPlan& plan,
    const GemmProblem& problem,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel) {
  DeviceStep step;
  step.buffers = {{problem.a.buffer, problem.b.buffer}, {problem.d.buffer}};
  if (problem.c) {
    step.buffers.reads.push_back(problem.c->buffer);
  }
  if (problem.bias) {
    step.buffers.reads.push_back(*problem.bias);
  }
  if (problem.saved) {
    step.buffers.reads.push_back(problem.saved->buffer);
  }
  if (problem.bias_gradient) {
    step.buffers.writes.push_back(*problem.bias_gradient);
  }
  step.bind = std::move(bind);
  plan.steps.push_back(std::move(step));
  append_builtin_steps(plan, problem.behind, TensorLayout::kChannelsFirst, kernel);
}

std::string form_text(const GemmProblem& problem) {
  return std::string(problem.fast_accumulation ? ";accumulation=fast" : "") +
         (problem.before.empty() ? "" : ";operands=made") +
         (problem.behind.empty() ? "" : ";steps=apart");
}

namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::string algorithm_text(const abi::LtAlgorithm& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) {
    text += fmt::format("{:016x}", word);
  }
  return text;
}

abi::LtAlgorithm parse_algorithm(const std::string& text) {
  abi::LtAlgorithm algorithm;
  bool good = text.size() == kDigits * algorithm.data.size();
  for (std::size_t i = 0; good && i < algorithm.data.size(); ++i) {
    const char* const begin = text.data() + i * kDigits;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, algorithm.data.at(i), 16);
    good = error == std::errc() && end == begin + kDigits;
  }
  if (!good) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is not an algorithm of cuBLASLt", text));
  }
  return algorithm;
}

}  // namespace plumb::cuda
