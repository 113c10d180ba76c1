// SPDX-License-Identifier: Apache-2.0
// Products of training. What the library cannot fuse follows its product as separate steps:
// gradients of activations, masks of bits, bias gradients.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

/// Layer behind the product, on buffers of its plan.
struct Part {
  model::LayerSpec spec;
  std::vector<std::size_t> buffers;  ///< of its operands, then of its output
};

/// Builds the first variant of a part that takes dense operands. The library's slow reference is
/// taken only if there is no other.
ExecutionPlan part_plan(const model::LayerSpec& spec, const Device& device) {
  const VariantBuilder::List builders = collect_builders(spec, device);
  const VariantBuilder* chosen = nullptr;
  for (const VariantBuilder& builder : builders.builders()) {
    bool dense = true;
    for (std::size_t i = 0; i < builder.arguments.size(); ++i) {
      dense = dense && same_bytes(builder.arguments[i].view, builder.layouts[i]);
    }
    if (dense && (chosen == nullptr || (chosen->is_reference() && !builder.is_reference()))) {
      chosen = &builder;
    }
  }
  if (chosen == nullptr) {
    throw Unsupported(
        fmt::format("{} after a product: no implementation takes dense operands", spec.op));
  }
  return chosen->build();
}

void append_part(ExecutionPlan& plan, const Part& part, const Device& device) {
  const ExecutionPlan own = part_plan(part.spec, device);
  std::vector<std::size_t> map;
  for (const Buffer& buffer : own.buffers) {
    if (buffer.role == Buffer::Role::kIntermediate) {
      map.push_back(plan.buffers.size());
      plan.buffers.push_back(buffer);
    } else {
      map.push_back(buffer.role == Buffer::Role::kInput ? part.buffers.at(buffer.operand)
                                                        : part.buffers.back());
    }
  }
  for (const Step& step : own.steps) {
    plan.steps.push_back(mapped(step, map));
  }
  plan.workspace_bytes = std::max(plan.workspace_bytes, own.workspace_bytes);
  plan.creation += own.creation;
  plan.implementation += "+" + own.implementation;
}

/// Adds the buffer of a dense operand or output and returns its index.
std::size_t add_dense(ExecutionPlan& plan,
                      Buffer::Role role,
                      std::size_t operand,
                      const model::TensorType& type) {
  Buffer buffer;
  buffer.role = role;
  buffer.operand = operand;
  buffer.weight = role == Buffer::Role::kInput && type.constant;
  buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
  plan.buffers.push_back(std::move(buffer));
  return plan.buffers.size() - 1;
}

/// Returns the buffer of a dense operand, which is added if there is none.
std::size_t operand_buffer(ExecutionPlan& plan, const model::LayerSpec& spec, std::size_t operand) {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.role == Buffer::Role::kInput && buffer.operand == operand && !buffer.pack &&
        same_bytes(buffer.view, buffer.layout)) {
      return i;
    }
  }
  return add_dense(plan, Buffer::Role::kInput, operand, spec.inputs.at(operand).value());
}

model::LayerSpec step_layer(const model::LayerSpec& spec, const char* op) {
  model::LayerSpec layer;
  layer.op = op;
  layer.accumulate = spec.accumulate;
  layer.math = spec.math;
  return layer;
}

/// Makes the step that clears the elements of a dense matrix whose bit is 0.
KernelStep bit_mask(const model::LayerSpec& spec,
                    std::size_t operand,
                    std::size_t mask,
                    std::size_t result) {
  const model::TensorType& y = spec.outputs[0];
  const auto columns = static_cast<std::size_t>(y.dims.back());
  const std::size_t rows =
      static_cast<std::size_t>(element_count(y)) / std::max<std::size_t>(1, columns);
  const auto size = static_cast<std::size_t>(model::element_bytes(y.dtype));
  const auto row_bytes = static_cast<std::size_t>(spec.inputs[operand]->dims.back());
  return [=](std::span<std::byte* const> buffers) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::byte* const bits = buffers[mask] + row * row_bytes;
      std::byte* const to = buffers[result] + row * columns * size;
      for (std::size_t column = 0; column < columns; ++column) {
        if (((bits[column / 8] >> (column % 8)) & std::byte{1}) == std::byte{0}) {
          std::fill_n(to + column * size, size, std::byte{0});
        }
      }
    }
  };
}

/// Returns a fused step, other than a mask of bits, as a layer on the result.
model::LayerSpec step_spec(const model::LayerSpec& spec, const model::Epilogue& step) {
  const std::optional<std::string_view> gradient = model::function_of_gradient(step.fn);
  model::LayerSpec layer =
      step_layer(spec, gradient ? "eltwise_backward" : (step.operand ? "binary" : "eltwise"));
  layer.inputs = {spec.outputs[0]};
  layer.outputs = {spec.outputs[0]};
  layer.attributes["fn"] = gradient ? std::string(*gradient) : step.fn;
  if (step.operand) {
    layer.inputs.push_back(spec.inputs.at(*step.operand));
  }
  if (layer.op != "binary") {
    layer.attributes["parameters"] = step.parameters;
  }
  return layer;
}

/// Appends one fused step as a separate step, in place on the result.
void append_step(ExecutionPlan& plan,
                 const model::LayerSpec& spec,
                 const model::Epilogue& step,
                 std::size_t result,
                 const Device& device) {
  if (step.fn == model::kBitMask) {
    const std::size_t mask = operand_buffer(plan, spec, *step.operand);
    plan.steps.emplace_back(bit_mask(spec, *step.operand, mask, result));
    plan.implementation += "+plumb:bit_mask";
    return;
  }
  std::vector<std::size_t> buffers{result};
  if (step.operand) {
    buffers.push_back(operand_buffer(plan, spec, *step.operand));
  }
  buffers.push_back(result);
  append_part(plan, {step_spec(spec, step), std::move(buffers)}, device);
}

/// Returns the sums that the key wants as a layer on the result or on a factor.
model::LayerSpec bias_spec(const model::LayerSpec& spec) {
  const std::string& of = spec.text("of");
  const bool of_a = of == "a";
  model::LayerSpec layer = step_layer(spec, "reduce");
  std::int64_t axis = 0;
  layer.inputs = {spec.outputs[0]};
  if (of != "y") {
    layer.inputs = {spec.inputs[of_a ? 0 : 1]};
    axis = (spec.integer(of_a ? "trans_a" : "trans_b") != 0) == of_a ? 0 : 1;
  }
  layer.outputs = {spec.outputs.at(1)};
  layer.attributes["axes"] = std::vector<std::int64_t>{axis};
  layer.attributes["fn"] = std::string("sum");
  layer.attributes["keepdims"] = std::int64_t{0};
  return layer;
}

/// Appends the sums that the key wants.
void append_bias_gradient(ExecutionPlan& plan,
                          const model::LayerSpec& spec,
                          std::size_t result,
                          const Device& device) {
  const std::string& of = spec.text("of");
  const std::size_t from = of == "y" ? result : operand_buffer(plan, spec, of == "a" ? 0 : 1);
  const std::size_t bias = add_dense(plan, Buffer::Role::kOutput, 1, spec.outputs[1]);
  plan.outputs.push_back(bias);
  append_part(plan, {bias_spec(spec), {from, bias}}, device);
}

/// Throws Unsupported if a step behind the product has no variant here.
void check_parts(const model::LayerSpec& spec,
                 const std::vector<model::Epilogue>& behind,
                 const Device& device) {
  for (const model::Epilogue& step : behind) {
    if (step.fn != model::kBitMask) {
      static_cast<void>(collect_builders(step_spec(spec, step), device));
    }
  }
  if (spec.op == "gemm_bias_gradient") {
    static_cast<void>(collect_builders(bias_spec(spec), device));
  }
}

bool is_apart(const model::Epilogue& step) {
  return step.fn == model::kBitMask || model::function_of_gradient(step.fn).has_value();
}

/// Adds the library's own gradients of a linear layer by weights and bias. It has them where the
/// product is dyᵀ·x with the sums of dy, or the transpose of it, xᵀ·dy.
void offer_inner_product_gradient(const model::LayerSpec& spec,
                                  const Device& device,
                                  VariantBuilder::List& list) {
  if (spec.text("of") == "y" || spec.integer("trans_a") == 0 || spec.integer("trans_b") != 0 ||
      spec.real("alpha") != 1.0 || !spec.epilogue.empty() || element_count(*spec.inputs[0]) == 0) {
    return;
  }
  const bool transposed = spec.text("of") == "b";
  const std::size_t gradient = transposed ? 1 : 0;
  const model::TensorType& dy = *spec.inputs[gradient];
  const model::TensorType& x = *spec.inputs[1 - gradient];
  const model::TensorType& dw = spec.outputs[0];
  const dnnl::memory::dims extents{dy.dims[1], x.dims[1]};
  const dnnl::memory::desc weights =
      transposed
          ? dnnl::memory::desc(extents, library_type(dw.dtype), dnnl::memory::dims{1, dy.dims[1]})
          : dense(dw);
  const auto bias = dense(spec.outputs[1]);
  const dnnl::primitive_attr attributes = make_attributes(spec);
  // What the library would like best is not transposed, and would have to be turned afterwards.
  const std::array layouts = transposed ? std::array{Layout::kPlain, Layout::kAny}
                                        : std::array{Layout::kAny, Layout::kPlain};
  for (const Layout layout : layouts) {
    const auto described = [&](const model::TensorType& type) {
      return layout == Layout::kAny ? any(type.dtype, type.dims) : dense(type);
    };
    dnnl_primitive_desc_t forward = nullptr;
    const dnnl_status_t made =
        dnnl_inner_product_forward_primitive_desc_create(&forward,
                                                         device.get(),
                                                         dnnl_forward_training,
                                                         described(x).get(),
                                                         any(x.dtype, extents).get(),
                                                         any(dy.dtype, spec.outputs[1].dims).get(),
                                                         described(dy).get(),
                                                         attributes.get());
    try {
      const dnnl::primitive_desc_base hint = forward_hint(made, forward);
      const auto result = layout == Layout::kAny ? any(dw.dtype, extents) : weights;
      dnnl_primitive_desc_t first = nullptr;
      const dnnl_status_t status =
          dnnl_inner_product_backward_weights_primitive_desc_create(&first,
                                                                    device.get(),
                                                                    described(x).get(),
                                                                    result.get(),
                                                                    bias.get(),
                                                                    described(dy).get(),
                                                                    hint.get(),
                                                                    attributes.get());
      list.add_implementations(
          status,
          first,
          {input(spec, DNNL_ARG_DIFF_DST, gradient, dense(dy)),
           input(spec, DNNL_ARG_SRC, 1 - gradient, dense(x)),
           output(DNNL_ARG_DIFF_WEIGHTS, 0, weights),
           output(DNNL_ARG_DIFF_BIAS, 1, bias)},
          fmt::format("kind=inner_product_backward;layout={}", to_text(layout)));
    } catch (const Unsupported&) {
      continue;  // the product itself is another variant
    }
  }
}

}  // namespace

bool has_gradient_steps(const model::LayerSpec& spec) {
  return spec.op == "gemm_bias_gradient" ||
         std::any_of(spec.epilogue.begin(), spec.epilogue.end(), is_apart);
}

void offer_product_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list) {
  const bool biased = spec.op == "gemm_bias_gradient";
  if (biased && spec.outputs.size() != 2) {
    throw Unsupported("gemm_bias_gradient has two outputs");
  }
  if (element_count(spec.outputs[0]) == 0) {
    throw Unsupported("a product without elements, with steps after it");
  }
  model::LayerSpec product = biased ? model::product_of(spec) : spec;
  const auto first = std::find_if(product.epilogue.begin(), product.epilogue.end(), is_apart);
  const std::vector<model::Epilogue> behind(first, product.epilogue.end());
  product.epilogue.erase(first, product.epilogue.end());
  if (biased) {
    product.inputs.resize(2);
  }
  if (biased) {
    offer_inner_product_gradient(spec, device, list);
  }
  check_parts(spec, behind, device);
  VariantBuilder::List products;
  (product.op == "matmul" ? offer_matmul : offer_gemm)(product, device, products);
  for (const VariantBuilder& alone : products.builders()) {
    VariantBuilder builder = alone;
    builder.number = 1;
    builder.details +=
        fmt::format("{};steps=apart", alone.number > 1 ? fmt::format(";of={}", alone.number) : "");
    builder.build = [spec, behind, biased, build = alone.build, &device] {
      ExecutionPlan plan = build();
      const std::size_t result = plan.outputs.at(0);
      if (!same_bytes(plan.buffers[result].view, plan.buffers[result].layout)) {
        throw Unsupported("steps after a result in the library's own layout");
      }
      for (const model::Epilogue& step : behind) {
        append_step(plan, spec, step, result, device);
      }
      if (biased) {
        append_bias_gradient(plan, spec, result, device);
      }
      return plan;
    };
    list.add(std::move(builder));
  }
  if (list.empty()) {
    throw Unsupported(products.refusal());
  }
}

}  // namespace plumb::onednn
