// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_variants.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>

#include "runners/cuda/builtin/builtin_step.hpp"
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"
#include "runners/cuda/dnn/legacy/legacy_translation.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

constexpr std::array<std::string_view, abi::kLegacyAlgorithms> kAlgorithms{"IMPLICIT_GEMM",
                                                                           "IMPLICIT_PRECOMP_GEMM",
                                                                           "GEMM",
                                                                           "DIRECT",
                                                                           "FFT",
                                                                           "FFT_TILING",
                                                                           "WINOGRAD",
                                                                           "WINOGRAD_NONFUSED"};

constexpr std::array<std::string_view, abi::kLegacyDataAlgorithms> kDataAlgorithms{
    "ALGO_0", "ALGO_1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
constexpr std::array<std::string_view, abi::kLegacyWeightsAlgorithms> kWeightsAlgorithms{
    "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};

/// Lists the algorithms of a call by name. Empty: it has none to choose from.
std::span<const std::string_view> list_algorithms(const LegacyCall& call) {
  if (std::holds_alternative<LegacyConvolution>(call)) {
    return kAlgorithms;
  }
  if (const auto* const gradient = std::get_if<LegacyConvolutionGradient>(&call)) {
    return gradient->by_weights ? std::span<const std::string_view>(kWeightsAlgorithms)
                                : std::span<const std::string_view>(kDataAlgorithms);
  }
  return {};
}

/// Variant of a layer: an older cuDNN call and, for a convolution or its gradient, an algorithm.
struct LegacyWay {
  LegacyProblem problem;
  std::shared_ptr<const LegacyExecution> execution;
  int algorithm = 0;
  std::size_t workspace = 0;
};

ExecutionPlan built(const model::LayerSpec& spec,
                    const LegacyWay& way,
                    CudnnHandle& handle,
                    const KernelStep& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  ExecutionPlan plan =
      begin_plan(spec,
                 input_layouts(spec, way.problem.behind, way.problem.layout),
                 std::vector<TensorLayout>(spec.outputs.size(), way.problem.layout));
  plan.implementation = "cudnn-legacy";
  plan.workspace_bytes = way.workspace;
  add_scratch_buffers(plan, way.problem.made);
  DeviceStep step;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {  // operands; results and intermediates
    (i < spec.inputs.size() ? step.buffers.reads : step.buffers.writes).push_back(i);
  }
  step.bind = [way, &handle](std::span<const abi::DevicePointer> buffers,
                             abi::DevicePointer workspace) {
    const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
    return DeviceLaunch([way, own, workspace, &handle](abi::Stream stream) {
      handle.use(stream);
      way.execution->run(
          {handle.get(), way.algorithm, own, abi::address_of(workspace), way.workspace});
    });
  };
  plan.steps.push_back(std::move(step));
  append_builtin_steps(plan, way.problem.behind, way.problem.layout, kernel);
  plan.creation = std::chrono::steady_clock::now() - begin;
  return plan;
}

/// Lists the variants of a problem: one for each algorithm that cuDNN gives a workspace size for.
std::vector<LegacyWay> list_ways(const LegacyProblem& problem, const CudnnHandle& handle) {
  const auto execution = std::make_shared<const LegacyExecution>(handle.library(), problem.call);
  const std::span<const std::string_view> algorithms = list_algorithms(problem.call);
  if (algorithms.empty()) {
    return {{problem, execution, 0, 0}};
  }
  // Without an activation the fused call has one algorithm (cuDNN's documentation of it).
  const auto* const convolution = std::get_if<LegacyConvolution>(&problem.call);
  const bool only_one = convolution != nullptr && convolution->bias &&
                        convolution->activation.mode == abi::LegacyActivation::kIdentity;
  std::vector<LegacyWay> ways;
  for (int algorithm = 0; algorithm < static_cast<int>(algorithms.size()); ++algorithm) {
    if (only_one && algorithm != abi::kLegacyImplicitPrecomputedGemm) {
      continue;
    }
    try {
      LegacyWay way{problem, execution, algorithm, execution->workspace(handle, algorithm)};
      way.problem.text += fmt::format(";algo={}", algorithms[static_cast<std::size_t>(algorithm)]);
      ways.push_back(std::move(way));
    } catch (const CudnnRefusal&) {
      continue;  // not for this layer
    }
  }
  return ways;
}

}  // namespace

std::vector<VariantBuilder> legacy_variants(const model::LayerSpec& spec,
                                            CudnnHandle& handle,
                                            const KernelStep& kernel) {
  std::vector<LegacyProblem> problems;
  try {
    problems = legacy_problems(spec);
  } catch (const Unsupported&) {
    return {};
  }
  std::vector<VariantBuilder> builders;
  for (const LegacyProblem& problem : problems) {
    try {
      for (LegacyWay& way : list_ways(problem, handle)) {
        VariantBuilder builder;
        builder.text = fmt::format("impl=cudnn-legacy;{}", way.problem.text);
        builder.attributes = tensor_core_attributes({});
        builder.inputs = input_layouts(spec, problem.behind, problem.layout);
        builder.outputs.assign(spec.outputs.size(), problem.layout);
        builder.build = [spec, way = std::move(way), kernel, &handle] {
          return built(spec, way, handle, kernel);
        };
        builders.push_back(std::move(builder));
      }
    } catch (const Unsupported&) {
      continue;  // this cuDNN lacks the call
    } catch (const CudnnRefusal&) {
      continue;  // or does not take the layer's descriptors
    }
  }
  return builders;
}

}  // namespace plumb::cuda
