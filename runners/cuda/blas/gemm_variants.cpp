// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/gemm_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "runners/cuda/blas/algorithm_text.hpp"
#include "runners/cuda/blas/product_plan.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

constexpr int kMaxChoices = 100;
/// Returns the settings by which algorithms differ, in the form of a variant's name.
std::string settings_text(const CublasLibrary& library, const abi::LtAlgorithm& algorithm) {
  constexpr std::array kSettings = std::to_array<std::pair<std::string_view, abi::LtSetting>>({
      {"algo", abi::LtSetting::kId},
      {"tile", abi::LtSetting::kTile},
      {"stages", abi::LtSetting::kStages},
      {"split_k", abi::LtSetting::kSplitK},
      {"reduction", abi::LtSetting::kReduction},
      {"swizzle", abi::LtSetting::kSwizzle},
      {"custom", abi::LtSetting::kCustom},
      {"inner", abi::LtSetting::kInnerShape},
      {"cluster", abi::LtSetting::kCluster},
  });
  std::string text = "impl=cublaslt";
  for (const auto& [name, setting] : kSettings) {
    std::array<std::uint32_t, 2> value{};  // two of them are 16 bits: what is not written is 0
    std::size_t written = 0;
    const std::size_t size =
        setting == abi::LtSetting::kInnerShape || setting == abi::LtSetting::kCluster
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
                                             const abi::LtAlgorithm& algorithm) {
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
  const bool may_round = spec.math == model::MathClass::kDownConvert;
  const bool may_tf32 = may_round || spec.math == model::MathClass::kTf32;
  return (may_tf32 || (flags & abi::kLtInputTf32) == 0) &&
         (may_round || (flags & abi::kLtAccumulatorF16) == 0);
}

std::vector<abi::LtChoice> choices(const CublasHandle& handle, const LtProduct& lt) {
  const CublasLibrary& library = handle.library();
  const OwnedDescriptor preference = make_owned(library,
                                                library.calls().preference_create,
                                                library.calls().preference_destroy,
                                                "a preference");
  library.check(library.calls().preference_set(preference.get(),
                                               abi::LtPreferenceAttribute::kMaxWorkspace,
                                               &kProductWorkspace,
                                               sizeof kProductWorkspace),
                "the workspace's limit");
  std::vector<abi::LtChoice> found(kMaxChoices);
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
  std::erase_if(found, [](const abi::LtChoice& one) { return one.state != abi::kLtSuccess; });
  return found;
}

ExecutionPlan built(const model::LayerSpec& spec,
                    const GemmProblem& problem,
                    const abi::LtChoice& choice,
                    const CublasHandle& handle,
                    const KernelStep& kernel) {
  ExecutionPlan plan = begin_product_plan(spec, problem, kernel);
  plan.implementation += "cublaslt";
  plan.workspace_bytes = choice.workspace;
  const auto bind = [problem, choice, &handle](std::span<const abi::DevicePointer> buffers,
                                               abi::DevicePointer workspace) {
    const CublasLibrary& library = handle.library();
    // Each slot has descriptors of its own, because the bias' address is one of their attributes.
    const auto lt = std::make_shared<const LtProduct>(lt_product(library, problem));
    const auto point = [&](abi::LtProductAttribute name, std::size_t buffer) {
      set_attribute(library, lt->product.get(), name, &buffers[buffer], sizeof buffers[buffer]);
    };
    if (const auto bias = problem.bias ? problem.bias : problem.bias_gradient) {
      point(abi::LtProductAttribute::kBiasPointer, *bias);
    }
    if (problem.saved) {
      point(abi::LtProductAttribute::kAuxPointer, problem.saved->buffer);
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
                  const CublasHandle& handle,
                  const KernelStep& kernel) {
  for (const abi::LtChoice& choice : choices(handle, lt_product(handle.library(), problem))) {
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
                                          const CublasHandle& handle,
                                          const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::map<std::string, int> names;
  std::string refusal;
  for (const GemmProblem& problem : gemm_forms(spec)) {
    try {
      add_builders(builders, names, spec, problem, handle, kernel);
    } catch (const CublasRefusal& words) {
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
