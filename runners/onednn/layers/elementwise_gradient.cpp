// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <numbers>
#include <vector>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/forward_hint.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

void check_two(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1 ||
      !spec.epilogue.empty() || spec.inputs[0]->dims != spec.inputs[1]->dims ||
      spec.inputs[0]->dims != spec.outputs[0].dims) {
    throw Unsupported(fmt::format(
        "{} needs two operands and an output of one shape, and nothing fused", spec.op));
  }
}

/// Offers dy·2/√π·exp(−x²) as the product x·x and what follows it, because oneDNN has no gradient
/// of erf.
void offer_erf_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  const auto data = dense(*spec.inputs[1]);
  const auto result = dense(spec.outputs[0]);
  PostOperations posts;
  posts.append_scale(-1.0F);
  posts.list.append_eltwise(dnnl::algorithm::eltwise_exp, 0.0F, 0.0F);
  posts.append_scale(2.0F * std::numbers::inv_sqrtpi_v<float>);
  posts.append_binary(spec, dnnl_binary_mul, 0, result.get_dims(), Layout::kPlain);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC_0, 1, data),
                                  input(spec, DNNL_ARG_SRC_1, 1, data),
                                  output(DNNL_ARG_DST, 0, result)};
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_binary_primitive_desc_create(&first,
                                                                 device.engine.get(),
                                                                 dnnl_binary_mul,
                                                                 data.get(),
                                                                 data.get(),
                                                                 result.get(),
                                                                 attributes.get());
  list.add_implementations(status, first, arguments, "kind=binary");
}

}  // namespace

void offer_eltwise_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  check_two(spec);
  const std::string& fn = spec.text("fn");
  if (fn == "erf") {
    return offer_erf_gradient(spec, device, list);
  }
  const auto function = eltwise_algorithm(fn, spec.reals("parameters"));
  if (!function) {
    throw Unsupported(fmt::format("oneDNN has no gradient of eltwise fn={}", fn));
  }
  const auto gradient = dense(*spec.inputs[0]);
  const auto data = dense(*spec.inputs[1]);
  const auto result = dense(spec.outputs[0]);
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t forward = nullptr;
  const dnnl_status_t made = dnnl_eltwise_forward_primitive_desc_create(&forward,
                                                                        device.engine.get(),
                                                                        dnnl_forward_training,
                                                                        function->kind,
                                                                        data.get(),
                                                                        data.get(),
                                                                        function->alpha,
                                                                        function->beta,
                                                                        attributes.get());
  const dnnl::primitive_desc_base hint = forward_hint(made, forward);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_eltwise_backward_primitive_desc_create(&first,
                                                                           device.engine.get(),
                                                                           function->kind,
                                                                           result.get(),
                                                                           gradient.get(),
                                                                           data.get(),
                                                                           function->alpha,
                                                                           function->beta,
                                                                           hint.get(),
                                                                           attributes.get());
  list.add_implementations(status,
                           first,
                           {input(spec, DNNL_ARG_DIFF_DST, 0, gradient),
                            input(spec, DNNL_ARG_SRC, 1, data),
                            output(DNNL_ARG_DIFF_SRC, 0, result)},
                           "");
}

void offer_softmax_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  check_two(spec);
  Dims dims = dense(*spec.inputs[0]).get_dims();
  std::int64_t axis = spec.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size())) {
    throw Unsupported(fmt::format("softmax has no axis {} of {}", axis, dims.size()));
  }
  if (spec.integer("coerce") != 0) {
    Dims flat{1, 1};
    for (std::size_t index = 0; index < dims.size(); ++index) {
      flat[static_cast<std::int64_t>(index) < axis ? 0 : 1] *= dims[index];
    }
    dims = flat;
    axis = 1;
  }
  const auto gradient = dense(spec.inputs[0]->dtype, dims);
  const auto data = dense(spec.inputs[1]->dtype, dims);
  const auto result = dense(spec.outputs[0].dtype, dims);
  const dnnl_alg_kind_t kind = spec.integer("log") != 0 ? dnnl_softmax_log : dnnl_softmax_accurate;
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t forward = nullptr;
  const dnnl_status_t made = dnnl_softmax_forward_primitive_desc_create(&forward,
                                                                        device.engine.get(),
                                                                        dnnl_forward_training,
                                                                        kind,
                                                                        data.get(),
                                                                        data.get(),
                                                                        static_cast<int>(axis),
                                                                        attributes.get());
  const dnnl::primitive_desc_base hint = forward_hint(made, forward);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_softmax_backward_primitive_desc_create(&first,
                                                                           device.engine.get(),
                                                                           kind,
                                                                           result.get(),
                                                                           gradient.get(),
                                                                           data.get(),
                                                                           static_cast<int>(axis),
                                                                           hint.get(),
                                                                           attributes.get());
  list.add_implementations(status,
                           first,
                           {input(spec, DNNL_ARG_DIFF_DST, 0, gradient),
                            input(spec, DNNL_ARG_DST, 1, data),
                            output(DNNL_ARG_DIFF_SRC, 0, result)},
                           "");
}

}  // namespace plumb::onednn
