// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_tensor.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "runners/cuda/dnn/cudnn_type.hpp"
#include "runners/cuda/exec/index_space.hpp"

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

}  // namespace

LegacyTensor legacy_tensor(model::DataType type,
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

LegacyTensor legacy_input(const model::LayerSpec& spec, std::size_t index, TensorLayout layout) {
  if (!spec.has_input(index) || !spec.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is missing or not dense", index));
  }
  return legacy_tensor(spec.inputs[index]->dtype, spec.inputs[index]->dims, layout, index);
}

LegacyTensor legacy_result(const model::LayerSpec& spec, TensorLayout layout) {
  const model::TensorType& result = spec.outputs.at(0);
  if (spec.has_input(0) && spec.inputs[0]->dtype != result.dtype) {
    throw Unsupported("a result of another type than the operand");
  }
  return legacy_tensor(result.dtype, result.dims, layout, spec.inputs.size());
}

LegacyWindow legacy_window(const model::LayerSpec& spec, const Dimensions& kernel) {
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

std::optional<LegacyActivation> legacy_activation(const std::string& fn,
                                                  const std::vector<double>& parameters) {
  using Mode = abi::LegacyActivation;
  if (fn == "relu") {
    return LegacyActivation{Mode::kRelu, 0.0};
  }
  if (fn == "clip" && parameters.at(0) == 0.0) {
    return LegacyActivation{Mode::kClippedRelu, parameters.at(1)};
  }
  if (fn == "elu") {
    return LegacyActivation{Mode::kElu, parameters.at(0)};
  }
  if (fn == "sigmoid") {
    return LegacyActivation{Mode::kSigmoid, 0.0};
  }
  if (fn == "tanh") {
    return LegacyActivation{Mode::kTanh, 0.0};
  }
  if (fn == "silu") {
    return LegacyActivation{Mode::kSwish, 0.0};
  }
  return std::nullopt;
}

}  // namespace plumb::cuda
