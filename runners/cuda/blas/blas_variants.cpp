// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

/// Returns a number in the 32 bits of the older calls. Throws Unsupported for a larger one.
int small(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw Unsupported(fmt::format("{} exceeds the range of cuBLAS' older calls", value));
  }
  return static_cast<int>(value);
}

abi::BlasCalls::Lt::Operation operation_of(const GemmProblem::Matrix& matrix) {
  return matrix.transposed ? abi::BlasCalls::Lt::Operation::kTranspose
                           : abi::BlasCalls::Lt::Operation::kNone;
}

void multiply(const GemmProblem& problem,
              const CublasLibrary::Handle& handle,
              abi::BlasHandle blas,
              std::span<const abi::DevicePointer> buffers) {
  const auto at = [&](const GemmProblem::Matrix& matrix) {
    return abi::address_of(buffers[matrix.buffer]);
  };
  const Factor alpha = factor(problem.alpha, problem.d.type);
  const Factor beta = factor(problem.beta, problem.d.type);
  const abi::BlasCalls::Lt::Compute compute = computation_of(problem).first;
  const abi::BlasCalls& calls = *handle.library().older_calls();
  const int status = problem.batch == 1 ? calls.gemm(blas,
                                                     operation_of(problem.a),
                                                     operation_of(problem.b),
                                                     small(problem.m),
                                                     small(problem.n),
                                                     small(problem.k),
                                                     address_of(alpha),
                                                     at(problem.a),
                                                     lt_type(problem.a.type),
                                                     small(problem.a.leading),
                                                     at(problem.b),
                                                     lt_type(problem.b.type),
                                                     small(problem.b.leading),
                                                     address_of(beta),
                                                     at(problem.d),
                                                     lt_type(problem.d.type),
                                                     small(problem.d.leading),
                                                     compute,
                                                     abi::kBlasDefaultAlgorithm)
                                        : calls.batched(blas,
                                                        operation_of(problem.a),
                                                        operation_of(problem.b),
                                                        small(problem.m),
                                                        small(problem.n),
                                                        small(problem.k),
                                                        address_of(alpha),
                                                        at(problem.a),
                                                        lt_type(problem.a.type),
                                                        small(problem.a.leading),
                                                        problem.a.batch_stride,
                                                        at(problem.b),
                                                        lt_type(problem.b.type),
                                                        small(problem.b.leading),
                                                        problem.b.batch_stride,
                                                        address_of(beta),
                                                        at(problem.d),
                                                        lt_type(problem.d.type),
                                                        small(problem.d.leading),
                                                        problem.d.batch_stride,
                                                        small(problem.batch),
                                                        compute,
                                                        abi::kBlasDefaultAlgorithm);
  handle.library().check(status, "a product");
}

/// Multiplies a matrix by a vector in one of the two types.
template <typename Number>
int multiplied(abi::BlasCalls::Gemv<Number> call,
               const GemmProblem& problem,
               const GemmProblem::Gemv& vectors,
               abi::BlasHandle blas,
               std::span<const abi::DevicePointer> buffers) {
  const auto at = [&](std::size_t buffer) {
    return static_cast<Number*>(abi::address_of(buffers[buffer]));
  };
  const auto alpha = static_cast<Number>(problem.alpha);
  const auto beta = static_cast<Number>(problem.beta);
  return call(blas,
              operation_of(vectors.a),
              small(vectors.a.rows),
              small(vectors.a.columns),
              &alpha,
              at(vectors.a.buffer),
              small(vectors.a.leading),
              at(vectors.x.buffer),
              small(vectors.x.step),
              &beta,
              at(vectors.y.buffer),
              small(vectors.y.step));
}

void multiply_vector(const GemmProblem& problem,
                     const GemmProblem::Gemv& vectors,
                     const CublasLibrary::Handle& handle,
                     abi::BlasHandle blas,
                     std::span<const abi::DevicePointer> buffers) {
  const abi::BlasCalls& calls = *handle.library().older_calls();
  handle.library().check(vectors.type == model::DataType::kF64
                             ? multiplied(calls.gemv_f64, problem, vectors, blas, buffers)
                             : multiplied(calls.gemv_f32, problem, vectors, blas, buffers),
                         "a product of matrix and vector");
}

/// Function that puts a product into a stream by one of the calls.
using Multiply = std::function<void(abi::BlasHandle, std::span<const abi::DevicePointer>)>;

VariantBuilder make_builder(const model::LayerSpec& spec,
                            const GemmProblem& problem,
                            const char* call,
                            const CublasLibrary::Handle& handle,
                            const KernelStep& kernel,
                            const Multiply& multiply_with) {
  VariantBuilder builder;
  builder.text = fmt::format("impl=cublas;call={}{}", call, form_text(problem));
  builder.attributes = tensor_core_attributes({});
  builder.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
  builder.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
  builder.build = [spec, problem, kernel, multiply_with, &handle] {
    ExecutionPlan plan = begin_product_plan(spec, problem, kernel);
    plan.implementation += "cublas";
    plan.workspace_bytes = kProductWorkspace;
    append_product(
        plan,
        problem,
        [multiply_with, &handle](std::span<const abi::DevicePointer> buffers,
                                 abi::DevicePointer workspace) {
          const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
          return DeviceLaunch([multiply_with, own, workspace, &handle](abi::Stream stream) {
            multiply_with(handle.in(stream, abi::address_of(workspace), kProductWorkspace), own);
          });
        },
        kernel);
    return plan;
  };
  return builder;
}

}  // namespace

std::vector<VariantBuilder> blas_variants(const model::LayerSpec& spec,
                                          const CublasLibrary::Handle& handle,
                                          const KernelStep& kernel) {
  const GemmProblem problem = plain_gemm_problem(spec);
  for (const std::int64_t count : {problem.m, problem.n, problem.k, problem.batch}) {
    static_cast<void>(small(count));
  }
  std::vector<VariantBuilder> builders;
  builders.push_back(make_builder(spec,
                                  problem,
                                  problem.batch == 1 ? "GemmEx" : "GemmStridedBatchedEx",
                                  handle,
                                  kernel,
                                  [problem, &handle](abi::BlasHandle blas, const auto& buffers) {
                                    multiply(problem, handle, blas, buffers);
                                  }));
  if (const std::optional<GemmProblem::Gemv> vectors = gemv_problem(problem)) {
    builders.push_back(make_builder(
        spec,
        problem,
        vectors->type == model::DataType::kF64 ? "Dgemv" : "Sgemv",
        handle,
        kernel,
        [problem, vectors = *vectors, &handle](abi::BlasHandle blas, const auto& buffers) {
          multiply_vector(problem, vectors, handle, blas, buffers);
        }));
  }
  return builders;
}

namespace {

constexpr int kMaxChoices = 100;
/// Returns the settings by which algorithms differ, in the form of a variant's name.
std::string settings_text(const CublasLibrary& library,
                          const abi::BlasCalls::Lt::Algorithm& algorithm) {
  constexpr std::array kSettings =
      std::to_array<std::pair<std::string_view, abi::BlasCalls::Lt::Setting>>({
          {"algo", abi::BlasCalls::Lt::Setting::kId},
          {"tile", abi::BlasCalls::Lt::Setting::kTile},
          {"stages", abi::BlasCalls::Lt::Setting::kStages},
          {"split_k", abi::BlasCalls::Lt::Setting::kSplitK},
          {"reduction", abi::BlasCalls::Lt::Setting::kReduction},
          {"swizzle", abi::BlasCalls::Lt::Setting::kSwizzle},
          {"custom", abi::BlasCalls::Lt::Setting::kCustom},
          {"inner", abi::BlasCalls::Lt::Setting::kInnerShape},
          {"cluster", abi::BlasCalls::Lt::Setting::kCluster},
      });
  std::string text = "impl=cublaslt";
  for (const auto& [name, setting] : kSettings) {
    std::array<std::uint32_t, 2> value{};  // two of them are 16 bits: what is not written is 0
    std::size_t written = 0;
    const std::size_t size = setting == abi::BlasCalls::Lt::Setting::kInnerShape ||
                                     setting == abi::BlasCalls::Lt::Setting::kCluster
                                 ? sizeof(std::uint16_t)
                                 : sizeof(std::uint32_t);
    if (library.calls().setting(&algorithm, setting, value.data(), size, &written) ==
        abi::kLtSuccess) {
      text += fmt::format(";{}={}", name, value[0]);
    }
  }
  return text;
}

/// Returns flags that say how an algorithm computes. Absent: it does not say.
std::optional<std::uint64_t> numerical_flags(const CublasLibrary& library,
                                             const abi::BlasCalls::Lt::Algorithm& algorithm) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  const int status = library.calls().capability(
      &algorithm, abi::kLtNumericalFlags, &flags, sizeof flags, &written);
  return status == abi::kLtSuccess ? std::optional(flags) : std::nullopt;
}

bool keeps_promise(const model::LayerSpec& spec, const std::optional<std::uint64_t>& known_flags) {
  if (!known_flags) {
    return true;  // then the compute type that was set decides
  }
  const std::uint64_t flags = *known_flags;
  const bool may_round = spec.math == model::LayerSpec::MathClass::kDownConvert;
  const bool may_tf32 = may_round || spec.math == model::LayerSpec::MathClass::kTf32;
  return (may_tf32 || (flags & abi::kLtInputTf32) == 0) &&
         (may_round || (flags & abi::kLtAccumulatorF16) == 0);
}

std::vector<abi::BlasCalls::Lt::Choice> choices(const CublasLibrary::Handle& handle,
                                                const CublasLibrary::Product& lt) {
  const CublasLibrary& library = handle.library();
  const DynamicLibrary::Owned preference = make_owned(library,
                                                      library.calls().preference_create,
                                                      library.calls().preference_destroy,
                                                      "a preference");
  library.check(
      library.calls().preference_set(preference.get(),
                                     abi::BlasCalls::Lt::PreferenceAttribute::kMaxWorkspace,
                                     &kProductWorkspace,
                                     sizeof kProductWorkspace),
      "the workspace's limit");
  std::vector<abi::BlasCalls::Lt::Choice> found(kMaxChoices);
  int count = 0;
  library.check(library.calls().heuristic(handle.get(),
                                          lt.product.get(),
                                          lt.a.get(),
                                          lt.b.get(),
                                          lt.c.get(),
                                          lt.d.get(),
                                          preference.get(),
                                          kMaxChoices,
                                          found.data(),
                                          &count),
                "the heuristic");
  found.resize(static_cast<std::size_t>(std::clamp(count, 0, kMaxChoices)));
  std::erase_if(found,
                [](const abi::BlasCalls::Lt::Choice& one) { return one.state != abi::kLtSuccess; });
  return found;
}

ExecutionPlan built(const model::LayerSpec& spec,
                    const GemmProblem& problem,
                    const abi::BlasCalls::Lt::Choice& choice,
                    const CublasLibrary::Handle& handle,
                    const KernelStep& kernel) {
  ExecutionPlan plan = begin_product_plan(spec, problem, kernel);
  plan.implementation += "cublaslt";
  plan.workspace_bytes = choice.workspace;
  const auto bind = [problem, choice, &handle](std::span<const abi::DevicePointer> buffers,
                                               abi::DevicePointer workspace) {
    const CublasLibrary& library = handle.library();
    // Each slot has descriptors of its own, because the bias' address is one of their attributes.
    const auto lt = std::make_shared<const CublasLibrary::Product>(lt_product(library, problem));
    const auto point = [&](abi::BlasCalls::Lt::ProductAttribute name, std::size_t buffer) {
      set_attribute(library, lt->product.get(), name, &buffers[buffer], sizeof buffers[buffer]);
    };
    if (const auto bias = problem.bias ? problem.bias : problem.bias_gradient) {
      point(abi::BlasCalls::Lt::ProductAttribute::kBiasPointer, *bias);
    }
    if (problem.saved) {
      point(abi::BlasCalls::Lt::ProductAttribute::kAuxPointer, problem.saved->buffer);
    }
    const auto at = [&](std::size_t buffer) { return abi::address_of(buffers[buffer]); };
    return DeviceLaunch([lt,
                         &handle,
                         algorithm = choice.algorithm,
                         size = choice.workspace,
                         alpha = factor(problem.alpha, problem.d.type),
                         beta = factor(problem.beta, problem.d.type),
                         a = at(problem.a.buffer),
                         b = at(problem.b.buffer),
                         c = at(problem.c.value_or(problem.d).buffer),
                         d = at(problem.d.buffer),
                         room = abi::address_of(workspace)](abi::Stream stream) {
      handle.library().check(handle.library().calls().product(handle.get(),
                                                              lt->product.get(),
                                                              address_of(alpha),
                                                              a,
                                                              lt->a.get(),
                                                              b,
                                                              lt->b.get(),
                                                              address_of(beta),
                                                              c,
                                                              lt->c.get(),
                                                              d,
                                                              lt->d.get(),
                                                              &algorithm,
                                                              room,
                                                              size,
                                                              stream),
                             "a product");
    });
  };
  append_product(plan, problem, bind, kernel);
  return plan;
}

/// Adds the algorithms that the heuristic gives for one form of a product.
void add_builders(std::vector<VariantBuilder>& builders,
                  std::map<std::string, int>& names,
                  const model::LayerSpec& spec,
                  const GemmProblem& problem,
                  const CublasLibrary::Handle& handle,
                  const KernelStep& kernel) {
  for (const abi::BlasCalls::Lt::Choice& choice :
       choices(handle, lt_product(handle.library(), problem))) {
    const auto flags = numerical_flags(handle.library(), choice.algorithm);
    if (!keeps_promise(spec, flags)) {
      continue;
    }
    VariantBuilder builder;
    builder.attributes =
        tensor_core_attributes({.product_flags = flags, .engine_notes = {}, .kernels = {}});
    if (flags) {
      builder.attributes["numerical_flags"] = flags_text(*flags);
    }
    builder.attributes[kAlgorithmAttribute] = algorithm_text(choice.algorithm);
    if (multiplies_f8(spec)) {
      builder.attributes["fast_accumulation"] = problem.fast_accumulation ? "yes" : "no";
    }
    builder.attributes["waves"] = fmt::format("{:.4g}", choice.waves);
    builder.text = settings_text(handle.library(), choice.algorithm) + form_text(problem);
    if (const int number = ++names[builder.text]; number > 1) {
      builder.text += fmt::format(";number={}", number);
    }
    builder.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
    builder.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
    builder.build = [spec, problem, choice, &handle, kernel] {
      return built(spec, problem, choice, handle, kernel);
    };
    builders.push_back(std::move(builder));
  }
}

}  // namespace

std::vector<VariantBuilder> gemm_variants(const model::LayerSpec& spec,
                                          const CublasLibrary::Handle& handle,
                                          const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::map<std::string, int> names;
  std::string refusal;
  for (const GemmProblem& problem : gemm_forms(spec)) {
    try {
      add_builders(builders, names, spec, problem, handle, kernel);
    } catch (const CublasLibrary::Refusal& words) {
      refusal = refusal.empty() ? words.what() : refusal;
    }
  }
  if (builders.empty()) {
    throw Unsupported(
        (refusal.empty() ? "cuBLASLt: its heuristic offers no algorithm with the promised precision"
                         : refusal) +
        (multiplies_f8(spec)
             ? "; for 8-bit floats, k and the rows of the result must be multiples of 16 bytes"
             : ""));
  }
  return builders;
}

}  // namespace plumb::cuda
