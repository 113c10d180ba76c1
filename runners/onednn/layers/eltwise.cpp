// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <vector>

#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

void check_arity(const model::LayerSpec& spec, std::size_t inputs) {
  bool complete = spec.inputs.size() >= inputs && spec.outputs.size() == 1;
  for (std::size_t index = 0; complete && index < inputs; ++index) {
    complete = spec.has_input(index);
  }
  if (!complete) {
    throw Unsupported(fmt::format("{} needs {} operands and one output", spec.op, inputs));
  }
}

/// Returns the function that computes the same with exchanged operands, or nothing if there is
/// none.
std::optional<dnnl_alg_kind_t> mirrored(dnnl_alg_kind_t kind) {
  switch (kind) {
    case dnnl_binary_add:
    case dnnl_binary_mul:
    case dnnl_binary_max:
    case dnnl_binary_min:
    case dnnl_binary_eq:
      return kind;
    case dnnl_binary_gt:
      return dnnl_binary_lt;
    case dnnl_binary_lt:
      return dnnl_binary_gt;
    case dnnl_binary_ge:
      return dnnl_binary_le;
    case dnnl_binary_le:
      return dnnl_binary_ge;
    default:
      return std::nullopt;
  }
}

}  // namespace

void offer_eltwise(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  check_arity(spec, 1);
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  const auto function = eltwise_algorithm(spec.text("fn"), spec.reals("parameters"));
  if (!function) {
    throw Unsupported(fmt::format("oneDNN has no eltwise fn={}", spec.text("fn")));
  }
  if (!model::is_floating(x.dtype)) {
    throw Unsupported(
        fmt::format("oneDNN computes eltwise functions of {} in f32", model::to_text(x.dtype)));
  }
  PostOperations posts;
  posts.append_epilogue(spec, dense(y).get_dims(), Layout::kPlain);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                  output(DNNL_ARG_DST, 0, dense(y))};
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_eltwise_forward_primitive_desc_create(&first,
                                                                          device.get(),
                                                                          dnnl_forward_inference,
                                                                          function->kind,
                                                                          dense(x).get(),
                                                                          dense(y).get(),
                                                                          function->alpha,
                                                                          function->beta,
                                                                          attributes.get());
  list.add_implementations(status, first, arguments, "");
}

void offer_prelu(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  check_arity(spec, 2);
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into prelu");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& slope = *spec.inputs[1];
  const model::TensorType& y = spec.outputs[0];
  const Dims slope_dims = padded_to_rank(slope.dims, dense(x).get_dims().size());
  const dnnl::primitive_attr attributes = make_attributes(spec);
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto weights = any(slope.dtype, slope_dims);
    const auto result = activation(y.dtype, y.dims, layout);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_prelu_forward_primitive_desc_create(&first,
                                                                          device.get(),
                                                                          dnnl_forward_inference,
                                                                          source.get(),
                                                                          weights.get(),
                                                                          result.get(),
                                                                          attributes.get());
    list.add_implementations(status,
                             first,
                             {input(spec, DNNL_ARG_SRC, 0, dense(x)),
                              input(spec, DNNL_ARG_WEIGHTS, 1, dense(slope.dtype, slope_dims)),
                              output(DNNL_ARG_DST, 0, dense(y))},
                             fmt::format("layout={}", to_text(layout)));
  }
}

void offer_binary(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  check_arity(spec, 2);
  auto kind = binary_algorithm(spec.text("fn"));
  if (!kind) {
    throw Unsupported(fmt::format("oneDNN has no binary fn={}", spec.text("fn")));
  }
  if (!model::is_floating(spec.inputs[0]->dtype)) {
    throw Unsupported(fmt::format("oneDNN computes binary functions of {} in f32",
                                  model::to_text(spec.inputs[0]->dtype)));
  }
  const model::TensorType& y = spec.outputs[0];
  const Dims result_dims = dense(y).get_dims();
  std::size_t left = 0;
  std::size_t right = 1;
  if (padded_to_rank(spec.inputs[0]->dims, result_dims.size()) != result_dims) {
    kind = mirrored(*kind);
    std::swap(left, right);
    if (!kind || padded_to_rank(spec.inputs[left]->dims, result_dims.size()) != result_dims) {
      throw Unsupported("oneDNN broadcasts only the second operand");
    }
  }
  const model::TensorType& a = *spec.inputs[left];
  const model::TensorType& b = *spec.inputs[right];
  const Dims b_dims = padded_to_rank(b.dims, result_dims.size());
  const bool same = b_dims == result_dims;
  const auto layouts =
      same ? std::vector<Layout>{Layout::kPlain} : given_layouts(result_dims.size());
  for (const Layout layout : layouts) {
    PostOperations posts;
    posts.append_epilogue(spec, result_dims, layout);
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    const auto first_operand = activation(a.dtype, result_dims, layout);
    const auto second_operand = dense(b.dtype, b_dims);
    const auto result = activation(y.dtype, result_dims, layout);
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC_0, left, dense(a.dtype, result_dims)),
                                    input(spec, DNNL_ARG_SRC_1, right, second_operand),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_binary_primitive_desc_create(&first,
                                                                   device.get(),
                                                                   *kind,
                                                                   first_operand.get(),
                                                                   second_operand.get(),
                                                                   result.get(),
                                                                   attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
}

void offer_sum(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  check_arity(spec, spec.inputs.size());
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into sum");
  }
  const model::TensorType& y = spec.outputs[0];
  std::vector<dnnl::memory::desc> sources;
  std::vector<const_dnnl_memory_desc_t> handles;
  std::vector<Argument> arguments;
  for (std::size_t index = 0; index < spec.inputs.size(); ++index) {
    sources.push_back(dense(*spec.inputs[index]));
    arguments.push_back(
        input(spec, DNNL_ARG_MULTIPLE_SRC + static_cast<int>(index), index, sources.back()));
  }
  for (const auto& source : sources) {
    handles.push_back(source.get());
  }
  arguments.push_back(output(DNNL_ARG_DST, 0, dense(y)));
  const std::vector<float> scales(sources.size(), 1.0F);
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_sum_primitive_desc_create(&first,
                                                              device.get(),
                                                              dense(y).get(),
                                                              static_cast<int>(handles.size()),
                                                              scales.data(),
                                                              handles.data(),
                                                              attributes.get());
  list.add_implementations(status, first, arguments, "");
}

void offer_softmax(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  check_arity(spec, 1);
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into softmax");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  Dims dims = dense(x).get_dims();
  std::int64_t axis = spec.integer("axis");
  if (axis < 0 || axis > static_cast<std::int64_t>(dims.size())) {
    throw Unsupported(fmt::format("softmax has no axis {} of {}", axis, dims.size()));
  }
  const auto coerce = spec.attributes.find("coerce");
  if (coerce != spec.attributes.end() && spec.integer("coerce") != 0) {
    Dims flat{1, 1};
    for (std::size_t index = 0; index < dims.size(); ++index) {
      flat[static_cast<std::int64_t>(index) < axis ? 0 : 1] *= dims[index];
    }
    dims = flat;
    axis = 1;
  }
  const auto source = dense(x.dtype, dims);
  const auto result = dense(y.dtype, dims);
  const dnnl::primitive_attr attributes = make_attributes(spec);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_softmax_forward_primitive_desc_create(
      &first,
      device.get(),
      dnnl_forward_inference,
      spec.integer("log") != 0 ? dnnl_softmax_log : dnnl_softmax_accurate,
      source.get(),
      result.get(),
      static_cast<int>(axis),
      attributes.get());
  list.add_implementations(
      status, first, {input(spec, DNNL_ARG_SRC, 0, source), output(DNNL_ARG_DST, 0, result)}, "");
}

namespace {

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
void offer_erf_gradient(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list) {
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
                                                                 device.get(),
                                                                 dnnl_binary_mul,
                                                                 data.get(),
                                                                 data.get(),
                                                                 result.get(),
                                                                 attributes.get());
  list.add_implementations(status, first, arguments, "kind=binary");
}

}  // namespace

void offer_eltwise_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list) {
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
                                                                        device.get(),
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
                                                                           device.get(),
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

void offer_softmax_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list) {
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
                                                                        device.get(),
                                                                        dnnl_forward_training,
                                                                        kind,
                                                                        data.get(),
                                                                        data.get(),
                                                                        static_cast<int>(axis),
                                                                        attributes.get());
  const dnnl::primitive_desc_base hint = forward_hint(made, forward);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_softmax_backward_primitive_desc_create(&first,
                                                                           device.get(),
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
