// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/forward_hint.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

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
                               BuilderList& list) {
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
        device.engine.get(),
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
                               BuilderList& list) {
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
                                                               device.engine.get(),
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
                                                                device.engine.get(),
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
                               BuilderList& list) {
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
                                                             device.engine.get(),
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
                                                              device.engine.get(),
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
