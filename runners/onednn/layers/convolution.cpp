// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "harness/model/key/quantized_product.hpp"
#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/convolution_problem.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

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

/// Lists every algorithm in every layout. BuilderList drops the duplicates.
void offer_all(const model::LayerSpec& spec,
               const Device& device,
               BuilderList& list,
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
                                          device.engine.get(),
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

void offer_convolution(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
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

void offer_deconvolution(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
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

}  // namespace plumb::onednn
