// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/convolution_problem.hpp"
#include "runners/onednn/layers/forward_hint.hpp"

namespace plumb::onednn {
namespace {

struct Algorithm {
  dnnl_alg_kind_t kind;
  const char* name;
};

constexpr std::array kAlgorithms = std::to_array<Algorithm>(
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
                                                     device.engine.get(),
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
  for (const Algorithm& algorithm : kAlgorithms) {
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
void offer_as_deconvolution(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
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
  BuilderList more;
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
                                     BuilderList& list) {
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
                                                                           device.engine.get(),
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
                                        BuilderList& list) {
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
                                                                    device.engine.get(),
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
