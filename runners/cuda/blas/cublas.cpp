// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/cublas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {
namespace {

const std::array<std::string, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};
const std::array<std::string, 2> kOlderNames{"libcublas.so.13", "libcublas.so.12"};
constexpr const char* kWhatToDo =
    "products need cuBLASLt: fetch the stack with it (plumb stacks fetch … "
    "nvidia-cublas==13.1.0.3), or add its folder to the stack's folders";

std::optional<abi::BlasCalls> find_older_calls() {
  try {
    const DynamicLibrary library(kOlderNames, kWhatToDo);
    abi::BlasCalls calls;
    abi::for_each_blas_call(calls, [&](auto& call, const char* name) { library.find(call, name); });
    return calls;
  } catch (const Error&) {
    return std::nullopt;  // cuBLASLt does not need them
  }
}

}  // namespace

CublasLibrary::CublasLibrary() {
  const DynamicLibrary library(kNames, kWhatToDo);
  abi::for_each_lt_call(calls_, [&](auto& call, const char* name) { library.find(call, name); });
  older_calls_ = find_older_calls();
}

void CublasLibrary::check(int status, const char* what) const {
  if (status == abi::kLtAllocFailed) {
    throw std::bad_alloc();
  }
  if (status != abi::kLtSuccess) {
    const char* const name = calls_.status_name(status);
    throw CublasLibrary::Refusal(fmt::format(
        "cuBLAS: {}: {} ({})", what, name != nullptr ? name : "unknown status", status));
  }
}

CublasLibrary::Handle::Handle(const CublasLibrary& library)
    : library_(library),
      handle_(make_owned(library, library.calls().create, library.calls().destroy, "a handle")) {
  const abi::BlasCalls* const calls = library.older_calls();
  if (calls == nullptr) {
    return;
  }
  try {
    older_ = make_owned(library, calls->create, calls->destroy, "a handle of the older calls");
  } catch (const CublasLibrary::Refusal&) {
    return;  // cuBLASLt does not need it
  }
}

abi::BlasHandle CublasLibrary::Handle::in(abi::Stream stream,
                                          void* workspace,
                                          std::size_t bytes) const {
  const abi::BlasCalls& calls = *library_.older_calls();
  const abi::BlasHandle handle = older_.value().get();
  library_.check(calls.set_stream(handle, stream), "a handle's stream");
  library_.check(calls.set_workspace(handle, workspace, bytes), "a handle's workspace");
  return handle;
}

abi::BlasCalls::Lt::Type lt_type(model::DataType type) {
  switch (type) {
    case model::DataType::kF64:
      return abi::BlasCalls::Lt::Type::kF64;
    case model::DataType::kF16:
      return abi::BlasCalls::Lt::Type::kF16;
    case model::DataType::kBf16:
      return abi::BlasCalls::Lt::Type::kBf16;
    case model::DataType::kS8:
      return abi::BlasCalls::Lt::Type::kS8;
    case model::DataType::kS32:
      return abi::BlasCalls::Lt::Type::kS32;
    case model::DataType::kF8E4M3:
      return abi::BlasCalls::Lt::Type::kF8E4M3;
    case model::DataType::kF8E5M2:
      return abi::BlasCalls::Lt::Type::kF8E5M2;
    default:
      return abi::BlasCalls::Lt::Type::kF32;
  }
}

std::pair<abi::BlasCalls::Lt::Compute, abi::BlasCalls::Lt::Type> computation_of(
    const GemmProblem& problem) {
  switch (problem.d.type) {
    case model::DataType::kF64:
      return {abi::BlasCalls::Lt::Compute::kF64, abi::BlasCalls::Lt::Type::kF64};
    case model::DataType::kS32:
      return {abi::BlasCalls::Lt::Compute::kS32, abi::BlasCalls::Lt::Type::kS32};
    default:
      return {problem.tf32 ? abi::BlasCalls::Lt::Compute::kF32AsTf32
                           : abi::BlasCalls::Lt::Compute::kF32,
              abi::BlasCalls::Lt::Type::kF32};
  }
}

abi::BlasCalls::Lt::Epilogue epilogue_of(const GemmProblem& problem) {
  using Activation = GemmProblem::Activation;
  const bool bias = problem.bias.has_value();
  const bool gradient = problem.bias_gradient.has_value();
  switch (problem.activation) {
    case Activation::kReluGradient:
      return gradient ? abi::BlasCalls::Lt::Epilogue::kReluGradientBias
                      : abi::BlasCalls::Lt::Epilogue::kReluGradient;
    case Activation::kGeluTanhGradient:
      return gradient ? abi::BlasCalls::Lt::Epilogue::kGeluGradientBias
                      : abi::BlasCalls::Lt::Epilogue::kGeluGradient;
    case Activation::kRelu:
      return bias ? abi::BlasCalls::Lt::Epilogue::kReluBias : abi::BlasCalls::Lt::Epilogue::kRelu;
    case Activation::kGeluTanh:
      return bias ? abi::BlasCalls::Lt::Epilogue::kGeluBias : abi::BlasCalls::Lt::Epilogue::kGelu;
    case Activation::kNone:
      break;
  }
  if (gradient) {
    return problem.summed == GemmProblem::Summed::kA ? abi::BlasCalls::Lt::Epilogue::kBiasGradientA
                                                     : abi::BlasCalls::Lt::Epilogue::kBiasGradientB;
  }
  return bias ? abi::BlasCalls::Lt::Epilogue::kBias : abi::BlasCalls::Lt::Epilogue::kDefault;
}

namespace {

DynamicLibrary::Owned matrix(const CublasLibrary& library,
                             const GemmProblem::Matrix& value,
                             std::int64_t batch) {
  abi::LtDescriptor handle = nullptr;
  library.check(library.calls().matrix_create(&handle,
                                              lt_type(value.type),
                                              static_cast<std::uint64_t>(value.rows),
                                              static_cast<std::uint64_t>(value.columns),
                                              value.leading),
                "a matrix");
  DynamicLibrary::Owned owned(handle, library.calls().matrix_destroy);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    library.check(
        library.calls().matrix_set(
            handle, abi::BlasCalls::Lt::MatrixAttribute::kBatchCount, &count, sizeof count),
        "a matrix's batch");
    library.check(library.calls().matrix_set(handle,
                                             abi::BlasCalls::Lt::MatrixAttribute::kBatchStride,
                                             &value.batch_stride,
                                             sizeof value.batch_stride),
                  "a matrix's batch stride");
  }
  return owned;
}

DynamicLibrary::Owned product(const CublasLibrary& library, const GemmProblem& problem) {
  const auto [compute, scale] = computation_of(problem);
  abi::LtDescriptor handle = nullptr;
  library.check(library.calls().product_create(&handle, compute, scale), "a product");
  DynamicLibrary::Owned owned(handle, library.calls().product_destroy);
  const auto operation = [](const GemmProblem::Matrix& value) {
    return value.transposed ? abi::BlasCalls::Lt::Operation::kTranspose
                            : abi::BlasCalls::Lt::Operation::kNone;
  };
  const abi::BlasCalls::Lt::Operation a = operation(problem.a);
  const abi::BlasCalls::Lt::Operation b = operation(problem.b);
  const abi::BlasCalls::Lt::Epilogue epilogue = epilogue_of(problem);
  set_attribute(library, handle, abi::BlasCalls::Lt::ProductAttribute::kTransposeA, &a, sizeof a);
  set_attribute(library, handle, abi::BlasCalls::Lt::ProductAttribute::kTransposeB, &b, sizeof b);
  set_attribute(
      library, handle, abi::BlasCalls::Lt::ProductAttribute::kEpilogue, &epilogue, sizeof epilogue);
  if (problem.fast_accumulation) {
    constexpr std::int8_t kOn = 1;
    set_attribute(
        library, handle, abi::BlasCalls::Lt::ProductAttribute::kFastAccumulation, &kOn, sizeof kOn);
  }
  if (problem.saved) {
    const std::int64_t leading = problem.saved->leading;
    set_attribute(library,
                  handle,
                  abi::BlasCalls::Lt::ProductAttribute::kAuxLeading,
                  &leading,
                  sizeof leading);
  }
  return owned;
}

}  // namespace

void set_attribute(const CublasLibrary& library,
                   abi::LtDescriptor product,
                   abi::BlasCalls::Lt::ProductAttribute name,
                   const void* value,
                   std::size_t size) {
  library.check(library.calls().product_set(product, name, value, size), "a product's attribute");
}

CublasLibrary::Product lt_product(const CublasLibrary& library, const GemmProblem& problem) {
  GemmProblem::Matrix c = problem.c.value_or(problem.d);
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
  for (const BuiltinLayer::Step& step : problem.before) {
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

std::string algorithm_text(const abi::BlasCalls::Lt::Algorithm& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) {
    text += fmt::format("{:016x}", word);
  }
  return text;
}

abi::BlasCalls::Lt::Algorithm parse_algorithm(const std::string& text) {
  abi::BlasCalls::Lt::Algorithm algorithm;
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
