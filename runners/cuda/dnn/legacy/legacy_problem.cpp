// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

std::vector<int> small(const Dimensions& values) {
  std::vector<int> result;
  for (const std::int64_t value : values) {
    if (value < 0 || value > std::numeric_limits<int>::max()) {
      throw Unsupported(fmt::format("{} exceeds the range of cuDNN's older calls", value));
    }
    result.push_back(static_cast<int>(value));
  }
  return result;
}

std::vector<int> with_two_axes(const Dimensions& values, int of_missing_axis) {
  std::vector<int> result = small(values);
  if (result.size() == 1) {
    result.insert(result.begin(), of_missing_axis);
  }
  return result;
}

/// Sliding window in two or three dimensions.
struct Window {
  std::vector<int> kernel;
  std::vector<int> pads;
  std::vector<int> strides;
  std::vector<int> dilations;
};

/// Reads a layer's window, which has the extents `kernel`. Throws Unsupported if pads differ by
/// side.
Window read_window(const model::LayerSpec& spec, const Dimensions& kernel) {
  const Dimensions& pads = spec.integers("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  const Dimensions before(pads.begin(), middle);
  if (before != Dimensions(middle, pads.end())) {
    throw Unsupported("pads that differ by side");
  }
  return {with_two_axes(kernel, 1),
          with_two_axes(before, 0),
          with_two_axes(spec.integers("strides"), 1),
          with_two_axes(spec.integers("dilations"), 1)};
}

}  // namespace

LegacyCall::Tensor legacy_tensor(model::DataType type,
                                 Dimensions extents,
                                 TensorLayout layout,
                                 std::size_t buffer) {
  if (extents.size() > 5) {
    throw Unsupported(fmt::format("a tensor of {} axes", extents.size()));
  }
  if (extents.size() == 3) {
    extents.insert(extents.begin() + 2, 1);
  }
  extents.resize(std::max<std::size_t>(extents.size(), 4), 1);
  return {cudnn_type(type), small(extents), small(compute_strides(extents, layout)), buffer};
}

LegacyCall::Tensor legacy_input(const model::LayerSpec& spec,
                                std::size_t index,
                                TensorLayout layout) {
  if (!spec.has_input(index) || !spec.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is missing or not dense", index));
  }
  return legacy_tensor(spec.inputs[index]->dtype, spec.inputs[index]->dims, layout, index);
}

LegacyCall::Tensor legacy_result(const model::LayerSpec& spec, TensorLayout layout) {
  const model::TensorType& result = spec.outputs.at(0);
  if (spec.has_input(0) && spec.inputs[0]->dtype != result.dtype) {
    throw Unsupported("a result of another type than the operand");
  }
  return legacy_tensor(result.dtype, result.dims, layout, spec.inputs.size());
}

std::optional<LegacyCall::Activation> legacy_activation(const std::string& fn,
                                                        const std::vector<double>& parameters) {
  using Mode = abi::LegacyCalls::ActivationMode;
  if (fn == "relu") {
    return LegacyCall::Activation{Mode::kRelu, 0.0};
  }
  if (fn == "clip" && parameters.at(0) == 0.0) {
    return LegacyCall::Activation{Mode::kClippedRelu, parameters.at(1)};
  }
  if (fn == "elu") {
    return LegacyCall::Activation{Mode::kElu, parameters.at(0)};
  }
  if (fn == "sigmoid") {
    return LegacyCall::Activation{Mode::kSigmoid, 0.0};
  }
  if (fn == "tanh") {
    return LegacyCall::Activation{Mode::kTanh, 0.0};
  }
  if (fn == "silu") {
    return LegacyCall::Activation{Mode::kSwish, 0.0};
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t kBias = 2;

abi::LegacyCalls::Math math_of(const model::LayerSpec& spec) {
  if (spec.inputs.at(0).value().dtype != model::DataType::kF32) {
    return abi::LegacyCalls::Math::kTensorCores;
  }
  const bool may_round = spec.math == model::LayerSpec::MathClass::kTf32 ||
                         spec.math == model::LayerSpec::MathClass::kDownConvert;
  return may_round ? abi::LegacyCalls::Math::kDefault : abi::LegacyCalls::Math::kFma;
}

/// Adds what the fused call does after a convolution: an addition, the bias, relu. Returns whether
/// that is all of the layer.
bool fuse(LegacyCall::Convolution& call, const model::LayerSpec& spec, TensorLayout layout) {
  if (!spec.has_input(kBias)) {
    return false;
  }
  Dimensions each(spec.outputs.at(0).dims.size(), 1);
  each[1] = spec.outputs[0].dims[1];
  auto step = spec.epilogue.begin();
  if (step != spec.epilogue.end() && step->fn == "add" && step->operand) {
    if (!spec.has_input(*step->operand) ||
        spec.inputs[*step->operand]->dims != spec.outputs[0].dims) {
      return false;
    }
    call.addend = legacy_input(spec, *step->operand, layout);
    ++step;
  }
  if (step != spec.epilogue.end() && step->fn == "relu") {
    call.activation.mode = abi::LegacyCalls::ActivationMode::kRelu;
    ++step;
  }
  call.bias = legacy_tensor(
      spec.inputs[kBias]->dtype, std::move(each), TensorLayout::kChannelsFirst, kBias);
  return step == spec.epilogue.end();
}

}  // namespace

LegacyCall::Convolution legacy_convolution(const model::LayerSpec& spec, TensorLayout layout) {
  const Window window = read_window(spec, spec.integers("strides"));
  LegacyCall::Convolution call;
  call.x = legacy_input(spec, 0, layout);
  call.w = legacy_input(spec, 1, layout);
  call.y = legacy_result(spec, layout);
  if (call.w.type != call.x.type) {
    throw Unsupported("weights of a different type than the input");
  }
  call.format = layout == TensorLayout::kChannelsFirst ? abi::LegacyCalls::Format::kChannelsFirst
                                                       : abi::LegacyCalls::Format::kChannelsLast;
  call.pads = window.pads;
  call.strides = window.strides;
  call.dilations = window.dilations;
  call.groups = static_cast<int>(spec.integer("group"));
  call.math = math_of(spec);
  return call;
}

std::vector<LegacyProblem> legacy_convolutions(const model::LayerSpec& spec) {
  const BuiltinLayer::Split split = split_layer(spec);
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const LegacyCall::Convolution call = legacy_convolution(spec, layout);
    LegacyCall::Convolution fused = call;
    if (fuse(fused, spec, layout)) {
      const bool active = fused.activation.mode != abi::LegacyCalls::ActivationMode::kIdentity;
      problems.push_back({fmt::format("layout={}", to_text(layout)), layout, std::move(fused), {}});
      if (active) {
        continue;
      }
      // Without an activation the fused call has one algorithm. The others add the bias apart.
    }
    problems.push_back(
        {fmt::format("layout={}{}", to_text(layout), split.behind.empty() ? "" : ";steps=apart"),
         layout,
         call,
         split.behind});
  }
  return problems;
}

std::vector<LegacyProblem> legacy_softmaxes(const model::LayerSpec& spec) {
  using Algorithm = abi::LegacyCalls::SoftmaxAlgorithm;
  const model::TensorType& x = spec.inputs.at(0).value();
  const auto axis = static_cast<std::size_t>(spec.integer("axis"));
  const bool to_the_end = spec.integer("coerce") != 0;
  Dimensions parted{1, 1, 1, 1};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    parted[i < axis ? 0 : (i == axis || to_the_end ? 1 : 2)] *= x.dims[i];
  }
  std::vector<LegacyProblem> problems;
  const auto add = [&](Algorithm algorithm, const char* name) {
    LegacyCall::Softmax call{
        legacy_tensor(x.dtype, parted, TensorLayout::kChannelsFirst, 0),
        legacy_tensor(
            spec.outputs.at(0).dtype, parted, TensorLayout::kChannelsFirst, spec.inputs.size()),
        algorithm};
    problems.push_back(
        {fmt::format("algo={}", name), TensorLayout::kChannelsFirst, std::move(call), {}});
  };
  if (spec.integer("log") != 0) {
    add(Algorithm::kLog, "LOG");
  } else {
    add(Algorithm::kAccurate, "ACCURATE");
    add(Algorithm::kFast, "FAST");
  }
  return problems;
}

std::vector<LegacyProblem> legacy_pools(const model::LayerSpec& spec) {
  using Mode = abi::LegacyCalls::PoolMode;
  if (spec.outputs.size() != 1) {
    throw Unsupported("a pool that gives positions");
  }
  const Window window = read_window(spec, spec.integers("kernel"));
  for (const int dilation : window.dilations) {
    if (dilation != 1) {
      throw Unsupported("a pool with dilations");
    }
  }
  const bool with_pads = spec.op == "average_pool" && spec.integer("count_include_pad") != 0;
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    LegacyCall::Pool pool{legacy_input(spec, 0, layout),
                          legacy_result(spec, layout),
                          with_pads ? Mode::kAverageWithPads : Mode::kAverageWithoutPads,
                          window.kernel,
                          window.pads,
                          window.strides};
    for (std::size_t i = 0; i < window.kernel.size(); ++i) {
      const int extent =
          (pool.x.dimensions[i + 2] + 2 * window.pads[i] - window.kernel[i]) / window.strides[i] +
          1;
      if (extent != pool.y.dimensions[i + 2]) {
        throw Unsupported("a pool with a window larger than its extents");
      }
    }
    if (spec.op == "max_pool") {
      pool.mode = spec.math == model::LayerSpec::MathClass::kDeterministic ? Mode::kMaxDeterministic
                                                                           : Mode::kMax;
    }
    problems.push_back({fmt::format("layout={}", to_text(layout)), layout, std::move(pool), {}});
  }
  return problems;
}

}  // namespace plumb::cuda
