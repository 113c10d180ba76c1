// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_gradient.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/cuda/dnn/legacy/legacy_convolution.hpp"
#include "runners/cuda/dnn/legacy/legacy_pool.hpp"
#include "runners/cuda/dnn/legacy/legacy_tensor.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

std::size_t result_buffer(const model::LayerSpec& spec) {
  return spec.inputs.size();
}

std::size_t made_buffer(const model::LayerSpec& spec) {
  return spec.inputs.size() + spec.outputs.size();
}

LegacyTensor at(LegacyTensor tensor, std::size_t buffer) {
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

}  // namespace

std::vector<LegacyProblem> legacy_convolution_gradients(const model::LayerSpec& spec) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("fused steps behind a gradient");
  }
  require_one_type(spec);
  const model::LayerSpec forward = model::forward_layer(spec);
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    LegacyConvolutionGradient call;
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

std::vector<LegacyProblem> legacy_pool_gradients(const model::LayerSpec& spec) {
  require_one_type(spec);
  const bool largest = spec.op == "max_pool_backward";
  std::vector<LegacyProblem> problems = legacy_pools(model::forward_layer(spec));
  for (LegacyProblem& problem : problems) {
    LegacyPoolGradient call;
    call.of = std::get<LegacyPool>(problem.call);
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

std::vector<LegacyProblem> legacy_softmax_gradients(const model::LayerSpec& spec) {
  require_one_type(spec);
  std::vector<LegacyProblem> problems = legacy_softmaxes(model::forward_layer(spec));
  if (problems.size() > 1) {
    problems.resize(1);  // both forward algorithms have one gradient
    problems[0].text = "call=SoftmaxBackward";
  }
  for (LegacyProblem& problem : problems) {
    const LegacySoftmax forward = std::get<LegacySoftmax>(problem.call);
    problem.call = LegacySoftmaxGradient{
        at(forward.y, 1), at(forward.y, 0), at(forward.x, result_buffer(spec)), forward.algorithm};
  }
  return problems;
}

std::vector<LegacyProblem> legacy_function_gradients(const model::LayerSpec& spec) {
  using Mode = abi::LegacyActivation;
  constexpr TensorLayout kLayout = TensorLayout::kChannelsFirst;
  require_one_type(spec);
  const std::optional<LegacyActivation> activation =
      legacy_activation(spec.text("fn"), spec.reals("parameters"));
  if (!activation) {
    throw Unsupported(fmt::format("'{}' is not one of its activations", spec.text("fn")));
  }
  LegacyFunctionGradient call;
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

}  // namespace plumb::cuda
