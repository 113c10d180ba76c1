// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
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

/// Lists a `batch_norm` with constant f32 parameters as one binary primitive with post-operations.
///
/// At inference it is element-wise: x less the mean, times 1 ÷ √(variance + epsilon), times the
/// scale, plus the bias, then the epilogue. Lists nothing for others.
void offer_channel_scaling(const model::LayerSpec& spec,
                           const Device& device,
                           VariantBuilder::List& list) {
  if (!has_constant_parameters(spec)) {
    return;
  }
  const model::TensorType& x = *spec.inputs[kX];
  const model::TensorType& y = spec.outputs[0];
  Dims channel_dims(x.dims.size(), 1);
  channel_dims[1] = x.dims[1];
  const auto of_channels = dense(model::DataType::kF32, channel_dims);
  const auto channel_form = [&](const model::TensorType& /*type*/) {
    return PostOperations::OperandForm{of_channels, of_channels};
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
                                                                   device.get(),
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

/// Makes the argument of a statistic, scale or shift, which oneDNN keeps in f32. A constant operand
/// of another type is converted when bound; others throw Unsupported.
Argument parameter(const model::LayerSpec& spec, int index, std::size_t operand, const Dims& dims) {
  const model::TensorType& type = spec.inputs.at(operand).value();
  if (type.dtype != model::DataType::kF32 && !type.constant) {
    throw Unsupported(
        fmt::format("oneDNN takes {}'s parameters as f32, and operand {} is {} and not constant",
                    spec.op,
                    operand,
                    model::to_text(type.dtype)));
  }
  return input(spec, index, operand, dense(type.dtype, dims));
}

}  // namespace

void offer_batch_norm(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list) {
  if (spec.text("mode") != "spatial") {
    throw Unsupported("oneDNN has batch_norm per channel only (mode=spatial)");
  }
  if (spec.outputs.size() != 1 || !spec.has_input(0) || !spec.has_input(4) ||
      spec.inputs[0]->dims.size() < 2 || spec.inputs[0]->dims.size() > 5) {
    throw Unsupported(
        "oneDNN has batch_norm of x with 2 to 5 dimensions, scale, bias, mean and var");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  const Dims channels{x.dims[1]};
  dnnl::primitive_attr attributes = make_attributes(spec);
  unsigned flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift;
  fuse_relu(spec, attributes);
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    const std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                          parameter(spec, DNNL_ARG_SCALE, 1, channels),
                                          parameter(spec, DNNL_ARG_SHIFT, 2, channels),
                                          parameter(spec, DNNL_ARG_MEAN, 3, channels),
                                          parameter(spec, DNNL_ARG_VARIANCE, 4, channels),
                                          output(DNNL_ARG_DST, 0, dense(y))};
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_batch_normalization_forward_primitive_desc_create(
        &first,
        device.get(),
        dnnl_forward_inference,
        source.get(),
        result.get(),
        static_cast<float>(spec.real("epsilon")),
        flags,
        attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
  offer_channel_scaling(spec, device, list);
}

/// Adds layer_norm. The library normalizes over the last dimension, so everything from the key's
/// axis on is one dimension.
void offer_layer_norm(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list) {
  if (spec.outputs.size() != 1 || !spec.has_input(0) || !spec.has_input(1) ||
      !spec.epilogue.empty()) {
    throw Unsupported("oneDNN has layer_norm of x and scale into one output, with nothing fused");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  const std::int64_t axis = spec.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.dims.size()) || x.dims != y.dims) {
    throw Unsupported("layer_norm's axis and shapes do not fit together");
  }
  Dims dims{1, 1};
  for (std::size_t index = 0; index < x.dims.size(); ++index) {
    dims[static_cast<std::int64_t>(index) < axis ? 0 : 1] *= x.dims[index];
  }
  const auto source = dense(x.dtype, dims);
  const auto result = dense(y.dtype, dims);
  const auto statistics = dense(model::DataType::kF32, Dims{dims[0]});
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, source),
                                  parameter(spec, DNNL_ARG_SCALE, 1, Dims{dims[1]}),
                                  output(DNNL_ARG_DST, 0, result)};
  unsigned flags = dnnl_use_scale;
  if (spec.has_input(2)) {
    flags |= dnnl_use_shift;
    arguments.push_back(parameter(spec, DNNL_ARG_SHIFT, 2, Dims{dims[1]}));
  }
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_layer_normalization_forward_primitive_desc_create(
      &first,
      device.get(),
      dnnl_forward_inference,
      source.get(),
      result.get(),
      statistics.get(),
      static_cast<float>(spec.real("epsilon")),
      flags,
      attributes.get());
  list.add_implementations(status, first, arguments, "");
}

void offer_lrn(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  if (spec.outputs.size() != 1 || !spec.has_input(0) || spec.inputs[0]->dims.size() < 2 ||
      spec.inputs[0]->dims.size() > 5) {
    throw Unsupported("oneDNN has lrn of one tensor with 2 to 5 dimensions");
  }
  if (spec.integer("size") % 2 == 0) {
    throw Unsupported("oneDNN has lrn over an odd number of channels only");
  }
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into lrn");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  const dnnl::primitive_attr attributes = make_attributes(spec);
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status =
        dnnl_lrn_forward_primitive_desc_create(&first,
                                               device.get(),
                                               dnnl_forward_inference,
                                               dnnl_lrn_across_channels,
                                               source.get(),
                                               result.get(),
                                               spec.integer("size"),
                                               static_cast<float>(spec.real("alpha")),
                                               static_cast<float>(spec.real("beta")),
                                               static_cast<float>(spec.real("bias")),
                                               attributes.get());
    list.add_implementations(
        status,
        first,
        {input(spec, DNNL_ARG_SRC, 0, dense(x)), output(DNNL_ARG_DST, 0, dense(y))},
        fmt::format("layout={}", to_text(layout)));
  }
}

namespace {

constexpr unsigned kFlags = dnnl_use_scale | dnnl_use_shift;

/// Throws Unsupported unless a parameter or statistic is f32.
void check_f32(const model::TensorType& type) {
  if (type.dtype != model::DataType::kF32) {
    throw Unsupported(fmt::format("oneDNN has scale, statistics and their gradients in f32, not {}",
                                  model::to_text(type.dtype)));
  }
}

void check_normalization(const model::LayerSpec& spec) {
  bool complete = spec.inputs.size() == 5 && spec.outputs.size() == 3 && spec.epilogue.empty();
  for (std::size_t index = 0; complete && index < spec.inputs.size(); ++index) {
    complete = spec.has_input(index);
  }
  if (!complete) {
    throw Unsupported(fmt::format("{} needs five operands and three outputs", spec.op));
  }
  for (const model::TensorType& type :
       {*spec.inputs[2], *spec.inputs[3], *spec.inputs[4], spec.outputs[1], spec.outputs[2]}) {
    check_f32(type);
  }
}

/// Makes the arguments for the key's operands and outputs. `data` are the extents of dy, x and dx,
/// `row` those of scale, `sets` those of mean and variance.
std::vector<Argument> make_arguments(const model::LayerSpec& spec,
                                     const Dims& data,
                                     const Dims& row,
                                     const Dims& sets) {
  return {input(spec, DNNL_ARG_DIFF_DST, 0, dense(spec.inputs[0]->dtype, data)),
          input(spec, DNNL_ARG_SRC, 1, dense(spec.inputs[1]->dtype, data)),
          input(spec, DNNL_ARG_SCALE, 2, dense(model::DataType::kF32, row)),
          input(spec, DNNL_ARG_MEAN, 3, dense(model::DataType::kF32, sets)),
          input(spec, DNNL_ARG_VARIANCE, 4, dense(model::DataType::kF32, sets)),
          output(DNNL_ARG_DIFF_SRC, 0, dense(spec.outputs[0].dtype, data)),
          output(DNNL_ARG_DIFF_SCALE, 1, dense(model::DataType::kF32, row)),
          output(DNNL_ARG_DIFF_SHIFT, 2, dense(model::DataType::kF32, row))};
}

}  // namespace

void offer_batch_norm_training(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list) {
  const model::TensorType& x = spec.inputs.at(0).value();
  if (x.dims.size() < 2 || x.dims.size() > 5) {
    throw Unsupported("oneDNN has batch_norm of 2 to 5 dimensions");
  }
  for (const model::TensorType& type :
       {*spec.inputs[1], *spec.inputs[2], spec.outputs[1], spec.outputs[2]}) {
    check_f32(type);
  }
  const auto channels = dense(model::DataType::kF32, Dims{x.dims[1]});
  dnnl::primitive_attr attributes = make_attributes(spec);
  fuse_relu(spec, attributes);
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(spec.outputs[0].dtype, x.dims, layout);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_batch_normalization_forward_primitive_desc_create(
        &first,
        device.get(),
        dnnl_forward_training,
        source.get(),
        result.get(),
        static_cast<float>(spec.real("epsilon")),
        kFlags,
        attributes.get());
    list.add_implementations(status,
                             first,
                             {input(spec, DNNL_ARG_SRC, 0, dense(x)),
                              input(spec, DNNL_ARG_SCALE, 1, channels),
                              input(spec, DNNL_ARG_SHIFT, 2, channels),
                              output(DNNL_ARG_DST, 0, dense(spec.outputs[0])),
                              output(DNNL_ARG_MEAN, 1, channels),
                              output(DNNL_ARG_VARIANCE, 2, channels)},
                             fmt::format("layout={}", to_text(layout)));
  }
}

void offer_batch_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list) {
  check_normalization(spec);
  const model::TensorType& x = *spec.inputs[1];
  if (x.dims.size() < 2 || x.dims.size() > 5) {
    throw Unsupported("oneDNN has batch_norm of 2 to 5 dimensions");
  }
  const auto epsilon = static_cast<float>(spec.real("epsilon"));
  const dnnl::primitive_attr attributes = make_attributes(spec);
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto gradient = activation(spec.inputs[0]->dtype, x.dims, layout);
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(spec.outputs[0].dtype, x.dims, layout);
    dnnl_primitive_desc_t forward = nullptr;
    const dnnl_status_t made =
        dnnl_batch_normalization_forward_primitive_desc_create(&forward,
                                                               device.get(),
                                                               dnnl_forward_training,
                                                               source.get(),
                                                               source.get(),
                                                               epsilon,
                                                               kFlags,
                                                               attributes.get());
    const dnnl::primitive_desc_base hint = forward_hint(made, forward);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status =
        dnnl_batch_normalization_backward_primitive_desc_create(&first,
                                                                device.get(),
                                                                dnnl_backward,
                                                                result.get(),
                                                                gradient.get(),
                                                                source.get(),
                                                                epsilon,
                                                                kFlags,
                                                                hint.get(),
                                                                attributes.get());
    list.add_implementations(status,
                             first,
                             make_arguments(spec, x.dims, {x.dims[1]}, {x.dims[1]}),
                             fmt::format("layout={}", to_text(layout)));
  }
}

/// Adds layer_norm_backward. The library normalizes over the last dimension, so everything from the
/// key's axis on is one dimension.
void offer_layer_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list) {
  check_normalization(spec);
  const model::TensorType& x = *spec.inputs[1];
  const std::int64_t axis = spec.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.dims.size())) {
    throw Unsupported("layer_norm's axis and shapes do not fit together");
  }
  Dims dims{1, 1};
  for (std::size_t index = 0; index < x.dims.size(); ++index) {
    dims[static_cast<std::int64_t>(index) < axis ? 0 : 1] *= x.dims[index];
  }
  const auto gradient = dense(spec.inputs[0]->dtype, dims);
  const auto source = dense(x.dtype, dims);
  const auto result = dense(spec.outputs[0].dtype, dims);
  const auto statistics = dense(model::DataType::kF32, Dims{dims[0]});
  const auto epsilon = static_cast<float>(spec.real("epsilon"));
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t forward = nullptr;
  const dnnl_status_t made =
      dnnl_layer_normalization_forward_primitive_desc_create(&forward,
                                                             device.get(),
                                                             dnnl_forward_training,
                                                             source.get(),
                                                             source.get(),
                                                             statistics.get(),
                                                             epsilon,
                                                             kFlags,
                                                             attributes.get());
  const dnnl::primitive_desc_base hint = forward_hint(made, forward);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status =
      dnnl_layer_normalization_backward_primitive_desc_create(&first,
                                                              device.get(),
                                                              dnnl_backward,
                                                              result.get(),
                                                              gradient.get(),
                                                              source.get(),
                                                              statistics.get(),
                                                              epsilon,
                                                              kFlags,
                                                              hint.get(),
                                                              attributes.get());
  std::vector<Argument> arguments = make_arguments(spec, dims, Dims{dims[1]}, Dims{dims[0]});
  // This primitive wants a shift, which no gradient reads. The scale takes its place.
  arguments.push_back(input(spec, DNNL_ARG_SHIFT, 2, dense(model::DataType::kF32, Dims{dims[1]})));
  list.add_implementations(status, first, arguments, "");
}

}  // namespace plumb::onednn
