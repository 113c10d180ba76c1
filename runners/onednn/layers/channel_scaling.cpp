// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layers/channel_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

enum Operand : std::size_t { kX, kScale, kBias, kMean, kVariance };

bool has_constant_parameters(const model::LayerSpec& spec) {
  return std::all_of(spec.inputs.begin() + kScale,
                     spec.inputs.begin() + kVariance + 1,
                     [](auto& t) { return t && t->constant && t->dtype == model::DataType::kF32; });
}

/// Returns a packing of a variance as 1 ÷ √(variance + epsilon).
Pack inverse_deviations(std::size_t channels, double epsilon) {
  return [=](const std::byte* operand, std::byte* packed) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      float value = 0.0F;
      std::memcpy(&value, operand + channel * sizeof value, sizeof value);
      value = static_cast<float>(1.0 / std::sqrt(static_cast<double>(value) + epsilon));
      std::memcpy(packed + channel * sizeof value, &value, sizeof value);
    }
  };
}

}  // namespace

void offer_channel_scaling(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  if (!has_constant_parameters(spec)) {
    return;
  }
  const model::TensorType& x = *spec.inputs[kX];
  const model::TensorType& y = spec.outputs[0];
  Dims channel_dims(x.dims.size(), 1);
  channel_dims[1] = x.dims[1];
  const auto of_channels = dense(model::DataType::kF32, channel_dims);
  const auto channel_form = [&](const model::TensorType& /*type*/) {
    return OperandForm{of_channels, of_channels};
  };
  const std::vector<Pack> packs{
      inverse_deviations(static_cast<std::size_t>(x.dims[1]), spec.real("epsilon"))};
  for (const Layout layout : given_layouts(x.dims.size())) {
    PostOperations posts;
    posts.append_binary(spec, dnnl_binary_mul, kVariance, channel_form);
    posts.append_binary(spec, dnnl_binary_mul, kScale, channel_form);
    posts.append_binary(spec, dnnl_binary_add, kBias, channel_form);
    posts.append_epilogue(spec, x.dims, layout);
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC_0, kX, dense(x)),
                                    input(spec, DNNL_ARG_SRC_1, kMean, of_channels),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    const std::size_t variance = arguments.size();
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_binary_primitive_desc_create(&first,
                                                                   device.engine.get(),
                                                                   dnnl_binary_sub,
                                                                   source.get(),
                                                                   of_channels.get(),
                                                                   result.get(),
                                                                   attributes.get());
    list.add_implementations(status,
                             first,
                             arguments,
                             fmt::format("kind=binary;layout={}", to_text(layout)),
                             [=](ExecutionPlan& plan) { take_as_they_are(plan, variance, packs); });
  }
}

}  // namespace plumb::onednn
