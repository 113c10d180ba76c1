// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_convolution.hpp"

#include <fmt/format.h>

#include "runners/cuda/builtin/split_layer.hpp"
#include "runners/cuda/dnn/legacy/legacy_tensor.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBias = 2;

abi::LegacyMath math_of(const model::LayerSpec& spec) {
  if (spec.inputs.at(0).value().dtype != model::DataType::kF32) {
    return abi::LegacyMath::kTensorCores;
  }
  const bool may_round =
      spec.math == model::MathClass::kTf32 || spec.math == model::MathClass::kDownConvert;
  return may_round ? abi::LegacyMath::kDefault : abi::LegacyMath::kFma;
}

/// Adds what the fused call does after a convolution: an addition, the bias, relu. Returns whether
/// that is all of the layer.
bool fuse(LegacyConvolution& call, const model::LayerSpec& spec, TensorLayout layout) {
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
    call.activation.mode = abi::LegacyActivation::kRelu;
    ++step;
  }
  call.bias = legacy_tensor(
      spec.inputs[kBias]->dtype, std::move(each), TensorLayout::kChannelsFirst, kBias);
  return step == spec.epilogue.end();
}

}  // namespace

LegacyConvolution legacy_convolution(const model::LayerSpec& spec, TensorLayout layout) {
  const LegacyWindow window = legacy_window(spec, spec.integers("strides"));
  LegacyConvolution call;
  call.x = legacy_input(spec, 0, layout);
  call.w = legacy_input(spec, 1, layout);
  call.y = legacy_result(spec, layout);
  if (call.w.type != call.x.type) {
    throw Unsupported("weights of a different type than the input");
  }
  call.format = layout == TensorLayout::kChannelsFirst ? abi::LegacyFormat::kChannelsFirst
                                                       : abi::LegacyFormat::kChannelsLast;
  call.pads = window.pads;
  call.strides = window.strides;
  call.dilations = window.dilations;
  call.groups = static_cast<int>(spec.integer("group"));
  call.math = math_of(spec);
  return call;
}

std::vector<LegacyProblem> legacy_convolutions(const model::LayerSpec& spec) {
  const SplitLayer split = split_layer(spec);
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const LegacyConvolution call = legacy_convolution(spec, layout);
    LegacyConvolution fused = call;
    if (fuse(fused, spec, layout)) {
      const bool active = fused.activation.mode != abi::LegacyActivation::kIdentity;
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

}  // namespace plumb::cuda
