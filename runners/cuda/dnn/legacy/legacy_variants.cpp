// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

std::size_t result_buffer(const model::LayerSpec& spec) {
  return spec.inputs.size();
}

std::size_t made_buffer(const model::LayerSpec& spec) {
  return spec.inputs.size() + spec.outputs.size();
}

LegacyCall::Tensor at(LegacyCall::Tensor tensor, std::size_t buffer) {
  tensor.buffer = buffer;
  return tensor;
}

model::TensorType plain(model::TensorType type) {
  type.constant = false;
  return type;
}

/// Throws Unsupported unless the operands and the first result have one type, as the calls need.
void require_one_type(const model::LayerSpec& spec) {
  const model::DataType type = spec.outputs.at(0).dtype;
  for (const auto& operand : spec.inputs) {
    if (operand && operand->dtype != type) {
      throw Unsupported("a gradient of operands of several types");
    }
  }
}

/// Translates gradients for cuDNN's older calls: of convolutions, pools, softmax and activations.
/// Gradients of convolutions are by data and by weights, with the bias' gradient by a call of its
/// own. Where a call reads the layer's result, which the key does not have, the layer's own call
/// makes it before, in the timed part. Each throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_convolution_gradients(
    const model::LayerSpec& spec) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("fused steps behind a gradient");
  }
  require_one_type(spec);
  const model::LayerSpec forward = model::forward_layer(spec);
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    LegacyCall::ConvolutionGradient call;
    call.by_weights = spec.op == "conv_backward_weights";
    call.of = legacy_convolution(forward, layout);
    call.of.y.buffer = 0;
    call.of.x.buffer = call.by_weights ? 1 : result_buffer(spec);
    call.of.w.buffer = call.by_weights ? result_buffer(spec) : 1;
    if (spec.outputs.size() > 1) {
      Dimensions each(forward.outputs[0].dims.size(), 1);
      each[1] = forward.outputs[0].dims[1];
      call.bias_gradient = legacy_tensor(spec.outputs[1].dtype,
                                         std::move(each),
                                         TensorLayout::kChannelsFirst,
                                         result_buffer(spec) + 1);
    }
    problems.push_back({fmt::format("layout={}", to_text(layout)), layout, std::move(call)});
  }
  return problems;
}

[[nodiscard]] std::vector<LegacyProblem> legacy_pool_gradients(const model::LayerSpec& spec) {
  require_one_type(spec);
  const bool largest = spec.op == "max_pool_backward";
  std::vector<LegacyProblem> problems = legacy_pools(model::forward_layer(spec));
  for (LegacyProblem& problem : problems) {
    LegacyCall::PoolGradient call;
    call.of = std::get<LegacyCall::Pool>(problem.call);
    call.makes_y = largest;
    call.dy = at(call.of.y, 0);
    call.dx = at(call.of.x, result_buffer(spec));
    // A gradient of averages needs neither x nor y, but the call takes addresses of their size.
    call.of.x.buffer = largest ? 1 : call.dx.buffer;
    call.of.y.buffer = largest ? made_buffer(spec) : 0;
    if (largest) {
      problem.made = {plain(spec.inputs.at(0).value())};
      problem.text += ";operands=made";
    }
    problem.call = std::move(call);
  }
  return problems;
}

[[nodiscard]] std::vector<LegacyProblem> legacy_softmax_gradients(const model::LayerSpec& spec) {
  require_one_type(spec);
  std::vector<LegacyProblem> problems = legacy_softmaxes(model::forward_layer(spec));
  if (problems.size() > 1) {
    problems.resize(1);  // both forward algorithms have one gradient
    problems[0].text = "call=SoftmaxBackward";
  }
  for (LegacyProblem& problem : problems) {
    const LegacyCall::Softmax forward = std::get<LegacyCall::Softmax>(problem.call);
    problem.call = LegacyCall::SoftmaxGradient{
        at(forward.y, 1), at(forward.y, 0), at(forward.x, result_buffer(spec)), forward.algorithm};
  }
  return problems;
}

[[nodiscard]] std::vector<LegacyProblem> legacy_function_gradients(const model::LayerSpec& spec) {
  using Mode = abi::LegacyCalls::ActivationMode;
  constexpr TensorLayout kLayout = TensorLayout::kChannelsFirst;
  require_one_type(spec);
  const std::optional<LegacyCall::Activation> activation =
      legacy_activation(spec.text("fn"), spec.reals("parameters"));
  if (!activation) {
    throw Unsupported(fmt::format("'{}' is not one of its activations", spec.text("fn")));
  }
  LegacyCall::FunctionGradient call;
  call.dy = legacy_input(spec, 0, kLayout);
  call.dx = at(call.dy, result_buffer(spec));
  // A rectifier lets the same elements through whether x or y decides, so x serves for both.
  call.makes_y = activation->mode != Mode::kRelu && activation->mode != Mode::kClippedRelu;
  call.of.x = legacy_input(spec, 1, kLayout);
  call.of.y = at(call.of.x, call.makes_y ? made_buffer(spec) : 1);
  call.of.activation = *activation;
  LegacyProblem problem{
      call.makes_y ? "layout=NCHW;operands=made" : "layout=NCHW", kLayout, call, {}, {}};
  if (call.makes_y) {
    problem.made = {plain(spec.inputs.at(1).value())};
  }
  return {std::move(problem)};
}

constexpr std::array kLayouts{TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast};

std::vector<LegacyProblem> one(LegacyCall::Any call) {
  return {{"layout=NCHW", TensorLayout::kChannelsFirst, std::move(call), {}}};
}

std::vector<LegacyProblem> responses(const model::LayerSpec& spec) {
  const std::int64_t size = spec.integer("size");
  if (size % 2 == 0 || size < 1 || size > 16) {
    throw Unsupported(
        fmt::format("a window of {} channels: only odd windows up to 16 are supported", size));
  }
  return one(LegacyCall::Response{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
                                  legacy_result(spec, TensorLayout::kChannelsFirst),
                                  static_cast<unsigned>(size),
                                  spec.real("alpha"),
                                  spec.real("beta"),
                                  spec.real("bias")});
}

std::vector<LegacyProblem> batch_norms(const model::LayerSpec& spec) {
  if (spec.text("mode") != "spatial" || spec.outputs.at(0).dims.size() < 2) {
    throw Unsupported("a normalisation that is not over channels");
  }
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : kLayouts) {
    LegacyCall::BatchNorm call{
        legacy_input(spec, 0, layout), legacy_result(spec, layout), {}, spec.real("epsilon")};
    for (const std::size_t operand : {1U, 2U, 3U, 4U}) {
      if (spec.inputs.at(operand).value().dtype != model::DataType::kF32) {
        throw Unsupported("parameters of another type than f32");
      }
    }
    Dimensions each(call.x.dimensions.size(), 1);
    each[1] = call.x.dimensions[1];
    call.parameters = legacy_tensor(model::DataType::kF32, each, TensorLayout::kChannelsFirst, 1);
    problems.push_back({fmt::format("layout={}", to_text(layout)), layout, std::move(call), {}});
  }
  return problems;
}

std::vector<LegacyProblem> functions(const model::LayerSpec& spec) {
  const std::optional<LegacyCall::Activation> activation =
      legacy_activation(spec.text("fn"), spec.reals("parameters"));
  if (!activation) {
    throw Unsupported(fmt::format("'{}' is not one of its activations", spec.text("fn")));
  }
  return one(LegacyCall::Function{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
                                  legacy_result(spec, TensorLayout::kChannelsFirst),
                                  *activation});
}

std::vector<LegacyProblem> binaries(const model::LayerSpec& spec) {
  using Operation = abi::LegacyCalls::Operation;
  constexpr std::array kOperations =
      std::to_array<std::pair<std::string_view, Operation>>({{"add", Operation::kAdd},
                                                             {"mul", Operation::kMultiply},
                                                             {"min", Operation::kMin},
                                                             {"max", Operation::kMax}});
  const Dimensions& extents = spec.outputs.at(0).dims;
  const model::TensorType& a = spec.inputs.at(0).value();
  const model::TensorType& b = spec.inputs.at(1).value();
  if (a.dims != extents || a.dtype != b.dtype || a.dtype != spec.outputs[0].dtype) {
    throw Unsupported("a left operand that is broadcast, or operands of several types");
  }
  for (const auto& [name, operation] : kOperations) {
    if (name == spec.text("fn")) {
      Dimensions right = b.dims;
      right.insert(right.begin(), extents.size() - right.size(), 1);
      return one(LegacyCall::Binary{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
                                    legacy_tensor(b.dtype, right, TensorLayout::kChannelsFirst, 1),
                                    legacy_result(spec, TensorLayout::kChannelsFirst),
                                    operation});
    }
  }
  throw Unsupported(fmt::format("'{}' is not one of its operations", spec.text("fn")));
}

}  // namespace

std::vector<LegacyProblem> legacy_problems(const model::LayerSpec& spec) {
  using Translate = std::vector<LegacyProblem> (*)(const model::LayerSpec&);
  constexpr std::array kRows = std::to_array<std::pair<std::string_view, Translate>>(
      {{"average_pool", legacy_pools},
       {"average_pool_backward", legacy_pool_gradients},
       {"batch_norm", batch_norms},
       {"binary", binaries},
       {"conv", legacy_convolutions},
       {"conv_backward_data", legacy_convolution_gradients},
       {"conv_backward_weights", legacy_convolution_gradients},
       {"eltwise", functions},
       {"eltwise_backward", legacy_function_gradients},
       {"lrn", responses},
       {"max_pool", legacy_pools},
       {"max_pool_backward", legacy_pool_gradients},
       {"softmax", legacy_softmaxes},
       {"softmax_backward", legacy_softmax_gradients}});
  for (const auto& [op, translate] : kRows) {
    if (op == spec.op) {
      if (spec.op != "conv" && !spec.epilogue.empty()) {
        throw Unsupported("fused steps behind it");
      }
      return translate(spec);
    }
  }
  throw Unsupported(fmt::format("cuDNN's older calls have no '{}'", spec.op));
}

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
std::span<const std::string_view> list_algorithms(const LegacyCall::Any& call) {
  if (std::holds_alternative<LegacyCall::Convolution>(call)) {
    return kAlgorithms;
  }
  if (const auto* const gradient = std::get_if<LegacyCall::ConvolutionGradient>(&call)) {
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
                    CudnnLibrary::Handle& handle,
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
std::vector<LegacyWay> list_ways(const LegacyProblem& problem, const CudnnLibrary::Handle& handle) {
  const auto execution = std::make_shared<const LegacyExecution>(handle.library(), problem.call);
  const std::span<const std::string_view> algorithms = list_algorithms(problem.call);
  if (algorithms.empty()) {
    return {{problem, execution, 0, 0}};
  }
  // Without an activation the fused call has one algorithm (cuDNN's documentation of it).
  const auto* const convolution = std::get_if<LegacyCall::Convolution>(&problem.call);
  const bool only_one = convolution != nullptr && convolution->bias &&
                        convolution->activation.mode == abi::LegacyCalls::ActivationMode::kIdentity;
  std::vector<LegacyWay> ways;
  for (int algorithm = 0; algorithm < static_cast<int>(algorithms.size()); ++algorithm) {
    if (only_one && algorithm != abi::kLegacyImplicitPrecomputedGemm) {
      continue;
    }
    try {
      LegacyWay way{problem, execution, algorithm, execution->workspace(handle, algorithm)};
      way.problem.text += fmt::format(";algo={}", algorithms[static_cast<std::size_t>(algorithm)]);
      ways.push_back(std::move(way));
    } catch (const CudnnLibrary::Refusal&) {
      continue;  // not for this layer
    }
  }
  return ways;
}

}  // namespace

std::vector<VariantBuilder> legacy_variants(const model::LayerSpec& spec,
                                            CudnnLibrary::Handle& handle,
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
    } catch (const CudnnLibrary::Refusal&) {
      continue;  // or does not take the layer's descriptors
    }
  }
  return builders;
}

}  // namespace plumb::cuda
