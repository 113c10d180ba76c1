// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

namespace plumb::onednn {
namespace {

/// Convolution in oneDNN's terms.
struct ConvolutionProblem {
  dnnl::memory::dims strides, dilations, begins, ends;
  dnnl::memory::dims weights;  ///< with groups: [g, O/g, I/g, k…]
  dnnl::memory::desc weights_view;
};

using Dims = dnnl::memory::dims;

void check_shapes(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1) {
    throw Unsupported(fmt::format("{} needs x, w and one output", spec.op));
  }
  const std::size_t rank = spec.inputs[0]->dims.size();
  const std::size_t spatial = rank - 2;
  if (rank < 3 || rank > 5 || spec.inputs[1]->dims.size() != rank ||
      spec.outputs[0].dims.size() != rank || spec.integers("strides").size() != spatial ||
      spec.integers("dilations").size() != spatial || spec.integers("pads").size() != 2 * spatial ||
      spec.integer("group") < 1) {
    throw Unsupported(fmt::format(
        "oneDNN has {} over 1 to 3 spatial dimensions, with attributes of that length", spec.op));
  }
}

/// Reads a `conv` or `conv_transpose`, except its weights.
///
/// The pads at the beginning are the key's. The pads at the end are what the output's extent needs,
/// because output_padding is one of them. Ranks are checked before they become array lengths of a C
/// API. Throws Unsupported.
[[nodiscard]] ConvolutionProblem convolution_problem(const model::LayerSpec& spec) {
  check_shapes(spec);
  ConvolutionProblem problem;
  problem.strides = spec.integers("strides");
  for (const std::int64_t dilation : spec.integers("dilations")) {
    problem.dilations.push_back(dilation - 1);
  }
  const Dims& pads = spec.integers("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  problem.begins.assign(pads.begin(), middle);
  problem.ends.assign(middle, pads.end());
  return problem;
}

/// Adds the weights: [O, I/g, k…] read as [g, O/g, I/g, k…], which are the same bytes.
void add_convolution_weights(const model::LayerSpec& spec, ConvolutionProblem& problem) {
  const model::TensorType& type = *spec.inputs[1];
  const std::int64_t group = spec.integer("group");
  problem.weights = type.dims;
  if (group > 1) {
    problem.weights[0] /= group;
    problem.weights.insert(problem.weights.begin(), group);
  }
  problem.weights_view = dense(type.dtype, problem.weights);
}

struct Algorithm {
  dnnl_alg_kind_t kind;
  const char* name;
};

/// Throws Unsupported for an integer convolution that no primitive takes.
void check_integers(const model::LayerSpec& spec) {
  if (!model::is_integer_product(spec)) {
    return;
  }
  const model::QuantizedProduct at = model::quantized_product(spec);
  if (spec.has_input(at.w_zero_point)) {
    throw Unsupported("a zero point of the weights");
  }
}

/// Returns whether the bias is in the accumulator's unit. oneDNN adds it to the real number
/// instead.
bool has_unscaled_bias(const model::LayerSpec& spec) {
  return model::is_integer_product(spec) && spec.has_input(2) &&
         !model::is_floating(spec.inputs[2]->dtype) &&
         spec.has_input(model::quantized_product(spec).x_scale);
}

/// Puts a step before a plan's primitive that scales the s32 bias. `bias`, `x_scale` and `w_scale`
/// are buffers of the plan, `bias` the one that the primitive reads.
void scale_bias(const model::LayerSpec& spec,
                std::size_t bias,
                std::size_t x_scale,
                std::size_t w_scale,
                ExecutionPlan& plan) {
  Buffer operand = plan.buffers[bias];
  operand.view = dense(*spec.inputs[2]);
  operand.layout = operand.view;
  operand.bytes = operand.view.get_size();
  plan.buffers[bias].role = Buffer::Role::kIntermediate;
  plan.buffers[bias].weight = false;
  const std::size_t whole = plan.buffers.size();
  plan.buffers.push_back(std::move(operand));
  const auto channels = static_cast<std::size_t>(spec.inputs[2]->dims.at(0));
  const bool each = element_count(*spec.inputs[model::quantized_product(spec).w_scale]) > 1;
  std::vector<Step> steps;
  steps.emplace_back(KernelStep([=](std::span<std::byte* const> buffers) {
    const auto* from = reinterpret_cast<const std::int32_t*>(buffers[whole]);
    const auto* x = reinterpret_cast<const float*>(buffers[x_scale]);
    const auto* w = reinterpret_cast<const float*>(buffers[w_scale]);
    auto* to = reinterpret_cast<float*>(buffers[bias]);
    for (std::size_t i = 0; i < channels; ++i) {
      to[i] = static_cast<float>(from[i]) * *x * w[each ? i : 0];
    }
  }));
  std::move(plan.steps.begin(), plan.steps.end(), std::back_inserter(steps));
  plan.steps = std::move(steps);
}

/// Describes weights [I, O/g, k…] as [g, O/g, I/g, k…], by exchanging the two channel strides.
void add_deconvolution_weights(const model::LayerSpec& spec, ConvolutionProblem& problem) {
  const model::TensorType& type = *spec.inputs[1];
  const std::int64_t group = spec.integer("group");
  Dims dims = type.dims;
  std::size_t first = 0;
  if (group > 1) {
    dims[0] /= group;
    dims.insert(dims.begin(), group);
    first = 1;
  }
  Dims strides = dense_strides(dims);
  std::swap(dims[first], dims[first + 1]);
  std::swap(strides[first], strides[first + 1]);
  problem.weights = dims;
  problem.weights_view = {dims, library_type(type.dtype), strides};
}

using Create = dnnl_status_t (*)(dnnl_primitive_desc_t*,
                                 dnnl_engine_t,
                                 dnnl_prop_kind_t,
                                 dnnl_alg_kind_t,
                                 const_dnnl_memory_desc_t,
                                 const_dnnl_memory_desc_t,
                                 const_dnnl_memory_desc_t,
                                 const_dnnl_memory_desc_t,
                                 const dnnl_dims_t,
                                 const dnnl_dims_t,
                                 const dnnl_dims_t,
                                 const dnnl_dims_t,
                                 const_dnnl_primitive_attr_t);

/// Lists every algorithm in every layout. VariantBuilder::List drops the duplicates.
void offer_all(const model::LayerSpec& spec,
               const Device& device,
               VariantBuilder::List& list,
               const ConvolutionProblem& problem,
               std::span<const Algorithm> algorithms,
               Create create) {
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& w = *spec.inputs[1];
  const model::TensorType& y = spec.outputs[0];
  const Dims bias_dims{y.dims[1]};
  for (const Layout layout : {Layout::kAny, Layout::kChannelsLast, Layout::kPlain}) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    const auto weights =
        w.constant || layout == Layout::kAny ? any(w.dtype, problem.weights) : problem.weights_view;
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                    input(spec, DNNL_ARG_WEIGHTS, 1, problem.weights_view),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    dnnl::memory::desc bias;
    if (spec.has_input(2)) {
      const model::DataType type =
          has_unscaled_bias(spec) ? model::DataType::kF32 : spec.inputs[2]->dtype;
      bias = dense(type, bias_dims);
      arguments.push_back(input(spec, DNNL_ARG_BIAS, 2, bias));
    }
    PostOperations posts;
    posts.append_epilogue(spec, y.dims, layout);
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    // In grouped weights [g, O/g, …] both axes count output channels.
    const int channels = spec.integer("group") > 1 ? 3 : 1;
    const IntegerOperands integers(spec, channels, attributes);
    const std::size_t own = arguments.size();
    arguments.insert(arguments.end(), integers.arguments().begin(), integers.arguments().end());
    const auto finish = [spec, integers, own](ExecutionPlan& plan) {
      integers.finish(plan, own);
      if (has_unscaled_bias(spec)) {
        constexpr std::size_t kBias = 3;  // behind x, w and y
        scale_bias(spec, kBias, own + integers.x_scale(), own + integers.x_scale() + 1, plan);
      }
    };
    for (const Algorithm& algorithm : algorithms) {
      dnnl_primitive_desc_t first = nullptr;
      const dnnl_status_t status = create(&first,
                                          device.get(),
                                          dnnl_forward_inference,
                                          algorithm.kind,
                                          source.get(),
                                          weights.get(),
                                          spec.has_input(2) ? bias.get() : nullptr,
                                          result.get(),
                                          problem.strides.data(),
                                          problem.dilations.data(),
                                          problem.begins.data(),
                                          problem.ends.data(),
                                          attributes.get());
      list.add_implementations(
          status,
          first,
          arguments,
          fmt::format("layout={};algorithm={}", to_text(layout), algorithm.name),
          finish);
    }
  }
}

}  // namespace

void offer_convolution(const model::LayerSpec& spec,
                       const Device& device,
                       VariantBuilder::List& list) {
  constexpr Algorithm kAlgorithms[] = {{dnnl_convolution_direct, "direct"},
                                       {dnnl_convolution_winograd, "winograd"},
                                       {dnnl_convolution_auto, "auto"}};
  check_integers(spec);
  ConvolutionProblem problem = convolution_problem(spec);
  add_convolution_weights(spec, problem);
  offer_all(
      spec, device, list, problem, kAlgorithms, dnnl_convolution_forward_primitive_desc_create);
  if (model::is_integer_product(spec)) {
    list.take_back(
        "jit_uni_int8",
        "it halves weights, or lets sums saturate at 16 bits, which differs from the key");
  }
}

void offer_deconvolution(const model::LayerSpec& spec,
                         const Device& device,
                         VariantBuilder::List& list) {
  constexpr Algorithm kAlgorithms[] = {{dnnl_deconvolution_direct, "direct"},
                                       {dnnl_deconvolution_winograd, "winograd"}};
  ConvolutionProblem problem = convolution_problem(spec);
  add_deconvolution_weights(spec, problem);
  const Dims& extra = spec.integers("output_padding");
  if (extra.size() != problem.ends.size()) {
    throw Unsupported("output_padding needs one number for each spatial dimension");
  }
  for (std::size_t axis = 0; axis < extra.size(); ++axis) {
    problem.ends[axis] -= extra[axis];
  }
  offer_all(
      spec, device, list, problem, kAlgorithms, dnnl_deconvolution_forward_primitive_desc_create);
}

namespace {

constexpr std::array kGradientAlgorithms = std::to_array<Algorithm>(
    {{dnnl_convolution_direct, "direct"}, {dnnl_convolution_winograd, "winograd"}});
constexpr std::array kLayouts{Layout::kAny, Layout::kChannelsLast, Layout::kPlain};

void check_gradient(const model::LayerSpec& spec, std::size_t most_outputs) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.empty() ||
      spec.outputs.size() > most_outputs || !spec.epilogue.empty()) {
    throw Unsupported(
        fmt::format("oneDNN has {} of two operands, with nothing fused after it", spec.op));
  }
}

/// Makes the descriptor of the convolution itself, in layouts of its own choice. The library needs
/// it to make the gradient. Throws Unsupported if there is none.
dnnl::primitive_desc_base forward_description(const model::LayerSpec& forward,
                                              bool biased,
                                              const ConvolutionProblem& problem,
                                              const Algorithm& algorithm,
                                              const Device& device) {
  const model::TensorType& x = *forward.inputs[0];
  const model::TensorType& y = forward.outputs[0];
  const auto source = any(x.dtype, x.dims);
  // The type of the weights' gradient may be wider than that of the factors.
  const auto weights = any(x.dtype, problem.weights);
  const auto bias = any(y.dtype, {y.dims[1]});
  const auto result = any(y.dtype, y.dims);
  const dnnl::primitive_attr attributes = make_attributes(forward);
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status =
      dnnl_convolution_forward_primitive_desc_create(&made,
                                                     device.get(),
                                                     dnnl_forward_training,
                                                     algorithm.kind,
                                                     source.get(),
                                                     weights.get(),
                                                     biased ? bias.get() : nullptr,
                                                     result.get(),
                                                     problem.strides.data(),
                                                     problem.dilations.data(),
                                                     problem.begins.data(),
                                                     problem.ends.data(),
                                                     attributes.get());
  return forward_hint(status, made);
}

/// Problem of a gradient, which is the convolution's in oneDNN's terms.
struct Gradient {
  model::LayerSpec forward;
  ConvolutionProblem problem;

  explicit Gradient(const model::LayerSpec& spec)
      : forward(model::forward_layer(spec)), problem(convolution_problem(forward)) {
    add_convolution_weights(forward, problem);
  }
};

/// Calls `builder(layout, algorithm, forward descriptor, details)` for each algorithm and layout.
/// The algorithms are those that the library has for the convolution itself. Throws Unsupported if
/// it has none.
template <typename Offered>
void for_each_form(const Gradient& gradient, bool biased, const Device& device, Offered&& builder) {
  std::string refusal;
  bool any_form = false;
  for (const Algorithm& algorithm : kGradientAlgorithms) {
    try {
      const dnnl::primitive_desc_base hint =
          forward_description(gradient.forward, biased, gradient.problem, algorithm, device);
      for (const Layout layout : kLayouts) {
        builder(layout,
                algorithm,
                hint,
                fmt::format("layout={};algorithm={}", to_text(layout), algorithm.name));
      }
      any_form = true;
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  }
  if (!any_form) {
    throw Unsupported(refusal);
  }
}

/// Adds the variants of the transposed convolution, another primitive that computes the same sums.
void offer_as_deconvolution(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list) {
  model::LayerSpec transposed = spec;
  transposed.op = "conv_transpose";
  const std::vector<std::int64_t>& dy = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& w = spec.inputs[1]->dims;
  const std::vector<std::int64_t>& dx = spec.outputs[0].dims;
  const std::vector<std::int64_t>& pads = spec.integers("pads");
  std::vector<std::int64_t> extra;
  for (std::size_t axis = 0; axis + 2 < dx.size(); ++axis) {
    const std::int64_t reached = (dy[axis + 2] - 1) * spec.integers("strides")[axis] +
                                 (w[axis + 2] - 1) * spec.integers("dilations")[axis] + 1 -
                                 pads[axis] - pads[axis + dx.size() - 2];
    extra.push_back(dx[axis + 2] - reached);
  }
  transposed.attributes["output_padding"] = extra;
  VariantBuilder::List more;
  try {
    offer_deconvolution(transposed, device, more);
  } catch (const Unsupported&) {
    return;  // this is only an additional variant
  }
  for (VariantBuilder builder : more.builders()) {
    builder.details = "primitive=deconvolution;" + builder.details;
    builder.number = 1;
    list.add(std::move(builder));
  }
}

}  // namespace

void offer_convolution_data_gradient(const model::LayerSpec& spec,
                                     const Device& device,
                                     VariantBuilder::List& list) {
  check_gradient(spec, 1);
  const Gradient gradient(spec);
  const ConvolutionProblem& problem = gradient.problem;
  const model::TensorType& dy = *spec.inputs[0];
  const model::TensorType& w = *spec.inputs[1];
  const model::TensorType& dx = spec.outputs[0];
  const std::vector<Argument> arguments{input(spec, DNNL_ARG_DIFF_DST, 0, dense(dy)),
                                        input(spec, DNNL_ARG_WEIGHTS, 1, problem.weights_view),
                                        output(DNNL_ARG_DIFF_SRC, 0, dense(dx))};
  const dnnl::primitive_attr attributes = make_attributes(spec);
  for_each_form(gradient,
                false,
                device,
                [&](Layout layout,
                    const Algorithm& algorithm,
                    const dnnl::primitive_desc_base& hint,
                    const std::string& details) {
                  const auto result = activation(dy.dtype, dy.dims, layout);
                  const auto source = activation(dx.dtype, dx.dims, layout);
                  const auto weights = w.constant || layout == Layout::kAny
                                           ? any(w.dtype, problem.weights)
                                           : problem.weights_view;
                  dnnl_primitive_desc_t first = nullptr;
                  const dnnl_status_t status =
                      dnnl_convolution_backward_data_primitive_desc_create(&first,
                                                                           device.get(),
                                                                           algorithm.kind,
                                                                           source.get(),
                                                                           weights.get(),
                                                                           result.get(),
                                                                           problem.strides.data(),
                                                                           problem.dilations.data(),
                                                                           problem.begins.data(),
                                                                           problem.ends.data(),
                                                                           hint.get(),
                                                                           attributes.get());
                  list.add_implementations(status, first, arguments, details);
                });
  offer_as_deconvolution(spec, device, list);
}

void offer_convolution_weights_gradient(const model::LayerSpec& spec,
                                        const Device& device,
                                        VariantBuilder::List& list) {
  check_gradient(spec, 2);
  const Gradient gradient(spec);
  const ConvolutionProblem& problem = gradient.problem;
  const bool biased = spec.outputs.size() > 1;
  const model::TensorType& dy = *spec.inputs[0];
  const model::TensorType& x = *spec.inputs[1];
  const model::TensorType& dw = spec.outputs[0];
  std::vector<Argument> arguments{input(spec, DNNL_ARG_DIFF_DST, 0, dense(dy)),
                                  input(spec, DNNL_ARG_SRC, 1, dense(x)),
                                  output(DNNL_ARG_DIFF_WEIGHTS, 0, problem.weights_view)};
  dnnl::memory::desc bias;
  if (biased) {
    bias = dense(spec.outputs[1]);
    arguments.push_back(output(DNNL_ARG_DIFF_BIAS, 1, bias));
  }
  const dnnl::primitive_attr attributes = make_attributes(spec);
  for_each_form(
      gradient,
      biased,
      device,
      [&](Layout layout,
          const Algorithm& algorithm,
          const dnnl::primitive_desc_base& hint,
          const std::string& details) {
        const auto result = activation(dy.dtype, dy.dims, layout);
        const auto source = activation(x.dtype, x.dims, layout);
        const auto weights =
            layout == Layout::kAny ? any(dw.dtype, problem.weights) : problem.weights_view;
        dnnl_primitive_desc_t first = nullptr;
        const dnnl_status_t status =
            dnnl_convolution_backward_weights_primitive_desc_create(&first,
                                                                    device.get(),
                                                                    algorithm.kind,
                                                                    source.get(),
                                                                    weights.get(),
                                                                    biased ? bias.get() : nullptr,
                                                                    result.get(),
                                                                    problem.strides.data(),
                                                                    problem.dilations.data(),
                                                                    problem.begins.data(),
                                                                    problem.ends.data(),
                                                                    hint.get(),
                                                                    attributes.get());
        list.add_implementations(status, first, arguments, details);
      });
}

}  // namespace plumb::onednn
