// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_translation.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "runners/cuda/dnn/legacy/legacy_convolution.hpp"
#include "runners/cuda/dnn/legacy/legacy_gradient.hpp"
#include "runners/cuda/dnn/legacy/legacy_pool.hpp"
#include "runners/cuda/dnn/legacy/legacy_tensor.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

constexpr std::array kLayouts{TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast};

std::vector<LegacyProblem> one(LegacyCall call) {
  return {{"layout=NCHW", TensorLayout::kChannelsFirst, std::move(call), {}}};
}

std::vector<LegacyProblem> responses(const model::LayerSpec& spec) {
  const std::int64_t size = spec.integer("size");
  if (size % 2 == 0 || size < 1 || size > 16) {
    throw Unsupported(
        fmt::format("a window of {} channels: only odd windows up to 16 are supported", size));
  }
  return one(LegacyResponse{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
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
    LegacyBatchNorm call{
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
  const std::optional<LegacyActivation> activation =
      legacy_activation(spec.text("fn"), spec.reals("parameters"));
  if (!activation) {
    throw Unsupported(fmt::format("'{}' is not one of its activations", spec.text("fn")));
  }
  return one(LegacyFunction{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
                            legacy_result(spec, TensorLayout::kChannelsFirst),
                            *activation});
}

std::vector<LegacyProblem> binaries(const model::LayerSpec& spec) {
  using Operation = abi::LegacyOperation;
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
      return one(LegacyBinary{legacy_input(spec, 0, TensorLayout::kChannelsFirst),
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

}  // namespace plumb::cuda
