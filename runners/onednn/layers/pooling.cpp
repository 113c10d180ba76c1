// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/forward_hint.hpp"

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
                   BuilderList& list,
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
                                                                            device.engine.get(),
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
                                                                          device.engine.get(),
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
                         BuilderList& list,
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
                                                    device.engine.get(),
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
                             BuilderList& list) {
  offer_pool_gradient(spec, device, list, dnnl_pooling_max);
}

void offer_average_pool_gradient(const model::LayerSpec& spec,
                                 const Device& device,
                                 BuilderList& list) {
  offer_pool_gradient(spec,
                      device,
                      list,
                      spec.integer("count_include_pad") != 0 ? dnnl_pooling_avg_include_padding
                                                             : dnnl_pooling_avg_exclude_padding);
}

void offer_max_pool(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  offer_pooling(spec, device, list, dnnl_pooling_max);
}

void offer_average_pool(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  offer_pooling(spec,
                device,
                list,
                spec.integer("count_include_pad") != 0 ? dnnl_pooling_avg_include_padding
                                                       : dnnl_pooling_avg_exclude_padding);
}

}  // namespace plumb::onednn
