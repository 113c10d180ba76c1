// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/key/training_layers.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/windows.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

struct Window {
  Dims kernel, strides, dilations, begins, ends;
  bool grown = false;  ///< ceil_mode made the end pads larger than the key's
};

/// Reads a pool's window. oneDNN has no ceil mode, so a larger end pad completes the last window.
Window read_window(const model::LayerSpec& spec) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  Window window;
  window.kernel = spec.integers("kernel");
  window.strides = spec.integers("strides");
  const Dims& dilations = spec.integers("dilations");
  const Dims& pads = spec.integers("pads");
  const std::size_t spatial = x.size() - 2;
  if (x.size() < 3 || x.size() > 5 || y.size() != x.size() || window.kernel.size() != spatial ||
      window.strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial) {
    throw Unsupported(
        "oneDNN pools over 1 to 3 spatial dimensions, with attributes of that length");
  }
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    const std::int64_t reach = (window.kernel[axis] - 1) * dilations[axis] + 1;
    const std::int64_t needed =
        (y[axis + 2] - 1) * window.strides[axis] + reach - x[axis + 2] - pads[axis];
    window.dilations.push_back(dilations[axis] - 1);
    window.begins.push_back(pads[axis]);
    window.ends.push_back(std::max(pads[axis + spatial], needed));
    window.grown = window.grown || needed > pads[axis + spatial];
  }
  return window;
}

void offer_pooling(const model::LayerSpec& spec,
                   const Device& device,
                   VariantBuilder::List& list,
                   dnnl_alg_kind_t kind) {
  if (!spec.has_input(0) || spec.outputs.size() != 1) {
    throw Unsupported(fmt::format("{} with one input and one output only (no indices)", spec.op));
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  const Window window = read_window(spec);
  if (window.grown && kind == dnnl_pooling_avg_include_padding) {
    throw Unsupported("oneDNN would count the pad that ceil_mode adds in an average over its pads");
  }
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    PostOperations posts;
    posts.append_epilogue(spec, y.dims, layout);
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(&first,
                                                                            device.get(),
                                                                            dnnl_forward_inference,
                                                                            kind,
                                                                            source.get(),
                                                                            result.get(),
                                                                            window.strides.data(),
                                                                            window.kernel.data(),
                                                                            window.dilations.data(),
                                                                            window.begins.data(),
                                                                            window.ends.data(),
                                                                            attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
}

/// Makes the descriptor of the pool itself in training. Throws Unsupported if there is none.
dnnl::primitive_desc_base training_pool(const model::LayerSpec& forward,
                                        const Window& window,
                                        dnnl_alg_kind_t kind,
                                        Layout layout,
                                        const Device& device) {
  const auto source = activation(forward.inputs[0]->dtype, forward.inputs[0]->dims, layout);
  const auto result = activation(forward.outputs[0].dtype, forward.outputs[0].dims, layout);
  const dnnl::primitive_attr attributes = make_attributes(forward);
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(&made,
                                                                          device.get(),
                                                                          dnnl_forward_training,
                                                                          kind,
                                                                          source.get(),
                                                                          result.get(),
                                                                          window.strides.data(),
                                                                          window.kernel.data(),
                                                                          window.dilations.data(),
                                                                          window.begins.data(),
                                                                          window.ends.data(),
                                                                          attributes.get());
  return forward_hint(status, made);
}

Buffer intermediate(const dnnl::memory::desc& layout) {
  Buffer buffer;
  buffer.role = Buffer::Role::kIntermediate;
  buffer.view = buffer.layout = layout;
  buffer.bytes = layout.get_size();
  return buffer;
}

/// Puts the pool itself before its gradient, which reads where the largest elements were. Only the
/// library knows the format of these positions.
void add_forward_step(const model::LayerSpec& spec,
                      const dnnl::primitive_desc_base& forward,
                      const dnnl::memory::desc& data_layout,
                      ExecutionPlan& plan) {
  Buffer data;
  data.operand = 1;
  data.view = dense(*spec.inputs[1]);
  data.layout = data_layout;
  data.bytes = data_layout.get_size();
  const auto result = forward.query_md(dnnl::query::exec_arg_md, DNNL_ARG_DST);
  const auto places = forward.query_md(dnnl::query::exec_arg_md, DNNL_ARG_WORKSPACE);
  const std::size_t first = plan.buffers.size();
  plan.buffers.push_back(std::move(data));
  plan.buffers.push_back(intermediate(result));
  plan.buffers.push_back(intermediate(places));
  PrimitiveStep step;
  step.primitive = make_primitive(forward, plan);
  step.arguments = {{DNNL_ARG_SRC, first, data_layout, 0},
                    {DNNL_ARG_DST, first + 1, result, 0},
                    {DNNL_ARG_WORKSPACE, first + 2, places, 0}};
  std::get<PrimitiveStep>(plan.steps.front())
      .arguments.push_back({DNNL_ARG_WORKSPACE, first + 2, places, 0});
  plan.steps.insert(plan.steps.begin(), std::move(step));
}

void offer_pool_gradient(const model::LayerSpec& spec,
                         const Device& device,
                         VariantBuilder::List& list,
                         dnnl_alg_kind_t kind) {
  const bool of_largest = kind == dnnl_pooling_max;
  if (!spec.has_input(0) || (of_largest && !spec.has_input(1)) || spec.outputs.size() != 1 ||
      !spec.epilogue.empty()) {
    throw Unsupported(fmt::format("{} with its operands, one output and nothing fused", spec.op));
  }
  const model::TensorType& dy = *spec.inputs[0];
  const model::TensorType& dx = spec.outputs[0];
  model::LayerSpec forward = model::forward_layer(spec);
  if (of_largest) {
    forward.inputs[0] = spec.inputs[1];
  }
  const Window window = read_window(forward);
  if (window.grown && kind == dnnl_pooling_avg_include_padding) {
    throw Unsupported("oneDNN would count the pad that ceil_mode adds in an average over its pads");
  }
  for (const Layout layout : given_layouts(dx.dims.size())) {
    const auto gradient = activation(dy.dtype, dy.dims, layout);
    const auto result = activation(dx.dtype, dx.dims, layout);
    const dnnl::primitive_desc_base hint = training_pool(forward, window, kind, layout, device);
    const dnnl::primitive_attr attributes = make_attributes(spec);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status =
        dnnl_pooling_backward_primitive_desc_create(&first,
                                                    device.get(),
                                                    kind,
                                                    result.get(),
                                                    gradient.get(),
                                                    window.strides.data(),
                                                    window.kernel.data(),
                                                    window.dilations.data(),
                                                    window.begins.data(),
                                                    window.ends.data(),
                                                    hint.get(),
                                                    attributes.get());
    std::function<void(ExecutionPlan&)> finish;
    if (of_largest) {
      finish = [spec, hint, layout](ExecutionPlan& plan) {
        add_forward_step(
            spec, hint, activation(spec.inputs[1]->dtype, spec.inputs[1]->dims, layout), plan);
      };
    }
    list.add_implementations(
        status,
        first,
        {input(spec, DNNL_ARG_DIFF_DST, 0, dense(dy)), output(DNNL_ARG_DIFF_SRC, 0, dense(dx))},
        fmt::format("layout={}{}", to_text(layout), of_largest ? ";steps=with_forward" : ""),
        finish);
  }
}

}  // namespace

void offer_max_pool_gradient(const model::LayerSpec& spec,
                             const Device& device,
                             VariantBuilder::List& list) {
  offer_pool_gradient(spec, device, list, dnnl_pooling_max);
}

void offer_average_pool_gradient(const model::LayerSpec& spec,
                                 const Device& device,
                                 VariantBuilder::List& list) {
  offer_pool_gradient(spec,
                      device,
                      list,
                      spec.integer("count_include_pad") != 0 ? dnnl_pooling_avg_include_padding
                                                             : dnnl_pooling_avg_exclude_padding);
}

void offer_max_pool(const model::LayerSpec& spec,
                    const Device& device,
                    VariantBuilder::List& list) {
  offer_pooling(spec, device, list, dnnl_pooling_max);
}

void offer_average_pool(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list) {
  offer_pooling(spec,
                device,
                list,
                spec.integer("count_include_pad") != 0 ? dnnl_pooling_avg_include_padding
                                                       : dnnl_pooling_avg_exclude_padding);
}

namespace {

bool same_positions(const std::vector<std::vector<ResizeTap>>& a,
                    const std::vector<std::int64_t>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& taps, std::int64_t position) {
        return taps.front().position == position;
      });
}

/// Lists oneDNN's own source positions (its documentation of resampling, nearest). They are
/// round((i + 0.5) · in / out − 0.5), halves away from zero.
std::vector<std::int64_t> library_positions(std::int64_t in, std::int64_t out) {
  std::vector<std::int64_t> positions;
  for (std::int64_t at = 0; at < out; ++at) {
    const float x =
        (static_cast<float>(at) + 0.5F) * static_cast<float>(in) / static_cast<float>(out) - 0.5F;
    positions.push_back(std::clamp<std::int64_t>(std::lround(x), 0, in - 1));
  }
  return positions;
}

/// Returns whether the library resizes as the key wants it. Batch and channels must stay.
bool library_resizes(const model::LayerSpec& spec) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  const std::string& mode = spec.text("mode");
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const double scale = spec.reals("scales")[axis];
    if (axis < 2 && (x[axis] != y[axis] || scale != 1)) {
      return false;
    }
    if (mode == "nearest" &&
        !same_positions(resize_taps(spec, axis), library_positions(x[axis], y[axis]))) {
      return false;
    }
    if (mode == "linear" &&
        (spec.text("coordinates") != "half_pixel" || spec.integer("exclude_outside") != 0 ||
         spec.integer("antialias") != 0 ||
         std::abs(scale * static_cast<double>(x[axis]) - static_cast<double>(y[axis])) > 1e-4)) {
      return false;
    }
  }
  return mode != "cubic";
}

}  // namespace

void offer_resampling(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list) {
  if (!spec.has_input(0) || spec.outputs.size() != 1 || spec.inputs[0]->dims.size() < 3 ||
      spec.inputs[0]->dims.size() > 5 ||
      spec.outputs[0].dims.size() != spec.inputs[0]->dims.size() ||
      spec.reals("scales").size() != spec.inputs[0]->dims.size()) {
    throw Unsupported("oneDNN resizes 1 to 3 spatial dimensions");
  }
  if (!library_resizes(spec)) {
    throw Unsupported("oneDNN resizes by half-pixel positions only, nearest or linear");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    PostOperations posts;
    posts.append_epilogue(spec, y.dims, layout);
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_resampling_forward_primitive_desc_create(
        &first,
        device.get(),
        dnnl_forward_inference,
        spec.text("mode") == "nearest" ? dnnl_resampling_nearest : dnnl_resampling_linear,
        nullptr,
        source.get(),
        result.get(),
        attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
}

namespace {

struct ReductionRow {
  std::string_view fn;
  dnnl_alg_kind_t kind;
  float p;
  bool log;  ///< followed by a logarithm
};

constexpr std::array<ReductionRow, 9> kReductions{{
    {"mean", dnnl_reduction_mean, 0, false},
    {"sum", dnnl_reduction_sum, 0, false},
    {"max", dnnl_reduction_max, 0, false},
    {"min", dnnl_reduction_min, 0, false},
    {"prod", dnnl_reduction_mul, 0, false},
    {"l1", dnnl_reduction_norm_lp_power_p_sum, 1, false},
    {"l2", dnnl_reduction_norm_lp_sum, 2, false},
    {"sum_square", dnnl_reduction_norm_lp_power_p_sum, 2, false},
    {"log_sum", dnnl_reduction_sum, 0, true},
}};

const ReductionRow& row_of(const std::string& fn) {
  for (const ReductionRow& row : kReductions) {
    if (row.fn == fn) {
      return row;
    }
  }
  throw Unsupported(fmt::format("oneDNN has no reduction fn={}", fn));
}

}  // namespace

void offer_reduction(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list) {
  if (!spec.has_input(0) || spec.outputs.size() != 1 || spec.inputs[0]->dims.empty()) {
    throw Unsupported("reduce needs one operand that is not a scalar, and one output");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  if (!model::is_floating(x.dtype)) {
    throw Unsupported("oneDNN reduces integers in f32");
  }
  if (element_count(x) == 0) {
    throw Unsupported("for zero elements oneDNN gives the largest float, not infinity");
  }
  const ReductionRow& row = row_of(spec.text("fn"));
  Dims dims = x.dims;
  for (const std::int64_t axis : spec.integers("axes")) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size())) {
      throw Unsupported("an axis of the reduction is out of range");
    }
    dims[static_cast<std::size_t>(axis)] = 1;
  }
  PostOperations posts;
  if (row.log) {
    posts.list.append_eltwise(dnnl::algorithm::eltwise_log, 0.0F, 0.0F);
  }
  posts.append_epilogue(spec, dims, Layout::kPlain);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  const auto result = dense(y.dtype, dims);
  if (static_cast<std::size_t>(model::byte_size(y).value) != result.get_size()) {
    throw Unsupported("the output of the reduction does not follow from the input and the axes");
  }
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                  output(DNNL_ARG_DST, 0, result)};
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_reduction_primitive_desc_create(
      &first, device.get(), row.kind, dense(x).get(), result.get(), row.p, 0.0F, attributes.get());
  list.add_implementations(status, first, arguments, "");
}

}  // namespace plumb::onednn
