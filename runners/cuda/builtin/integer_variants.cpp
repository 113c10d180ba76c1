// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/integer_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "harness/model/key/operator_families.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/builtin/integer_layers.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

const model::TensorType& operand(const model::LayerSpec& spec, std::size_t index) {
  if (!spec.has_input(index) || !spec.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is missing or not dense", index));
  }
  return *spec.inputs[index];
}

bool is_convolution(const model::LayerSpec& spec) {
  return spec.op == "conv_integer";
}

bool has_pads(const model::LayerSpec& spec) {
  const Dimensions& pads = spec.integers("pads");
  return std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
}

/// Returns whether the left factor is offset from what is multiplied: it is u8 or has a zero point.
bool is_shifted(const model::LayerSpec& spec) {
  return operand(spec, 0).dtype == model::DataType::kU8 ||
         spec.has_input(model::quantized_product(spec).x_zero_point);
}

/// Returns whether the left factor is copied before the product: to s8, or to pad it with its zero
/// point.
bool is_copied(const model::LayerSpec& spec) {
  return operand(spec, 0).dtype == model::DataType::kU8 ||
         (is_convolution(spec) && is_shifted(spec) && has_pads(spec));
}

/// Returns the left factor as it is multiplied.
model::TensorType factor_of(const model::LayerSpec& spec) {
  model::TensorType type = operand(spec, 0);
  type.dtype = model::DataType::kS8;
  if (is_convolution(spec) && is_copied(spec)) {
    const Dimensions& pads = spec.integers("pads");
    const std::size_t axes = type.dims.size() - 2;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      type.dims[axis + 2] += pads.at(axis) + pads.at(axis + axes);
    }
  }
  return type;
}

/// Product of 8-bit integers as a library computes it, and built-in kernels before and after it.
/// The product is of s8 by s8 into s32. Buffers are numbered: the layer's operands, its results,
/// then what these kernels and the product make. A value that needs no library.
struct IntegerForm {
  std::array<std::size_t, 2> factors{};  ///< buffers that the product reads
  std::size_t sums = 0;                  ///< buffer of s32 that it writes; may be the result's
  std::vector<ExecutionPlan::Scratch> made;
  std::vector<KernelLaunch> once;    ///< of constant operands alone
  std::vector<KernelLaunch> before;  ///< in the timed part
  std::vector<KernelLaunch> behind;
  std::vector<TensorLayout> inputs;  ///< layout of each of the layer's operands
};

/// Writer of a form, launch by launch. Its product takes operands and leaves its result in a
/// layout.
class Writer {
 public:
  Writer(const model::LayerSpec& spec, TensorLayout layout)
      : spec_(spec), layout_(layout), at_(model::quantized_product(spec)) {}

  /// Throws Unsupported.
  IntegerForm run() {
    form_.inputs = BuiltinLayer::Operands(spec_, layout_).input_layouts();
    form_.inputs[0] = layout_;
    form_.inputs[1] = is_convolution(spec_) ? layout_ : TensorLayout::kChannelsFirst;
    form_.factors = {is_copied(spec_) ? copied() : 0, 1};
    std::optional<StepChain::ShiftedFactor> shifted;
    // Products of shifted numbers: sum((x - z) * w) = sum(x * w) - z * sum(w). The last sum is
    // added up here.
    if (is_shifted(spec_)) {
      shifted = added_up();
    }
    const model::TensorType& y = spec_.outputs.at(0);
    form_.sums = spec_.inputs.size();
    if (y.dtype != model::DataType::kS32) {
      form_.sums = make({{model::DataType::kS32, y.dims, false, {}}, layout_, false});
    }
    const bool follows = shifted || !spec_.epilogue.empty() || spec_.has_input(at_.w_scale) ||
                         (is_convolution(spec_) && spec_.has_input(2));
    if (follows) {
      form_.behind.push_back(launch_behind_sums(spec_, layout_, form_.sums, shifted));
    }
    return std::move(form_);
  }

 private:
  std::size_t make(ExecutionPlan::Scratch tensor) {
    form_.made.push_back(std::move(tensor));
    return spec_.inputs.size() + spec_.outputs.size() + form_.made.size() - 1;
  }

  void add(KernelLaunch launch, bool constant) {
    (constant ? form_.once : form_.before).push_back(std::move(launch));
  }

  [[nodiscard]] bool has_x_zero() const { return spec_.has_input(at_.x_zero_point); }

  std::size_t copied() {
    const model::TensorType& x = *spec_.inputs[0];
    const bool constant = x.constant && (!has_x_zero() || spec_.inputs[at_.x_zero_point]->constant);
    ExecutionPlan::Scratch made{factor_of(spec_), layout_, constant};
    kernels::ShiftShape shape{};
    shape.space =
        plain_space(made.type.dims,
                    {compute_strides(made.type.dims, layout_), compute_strides(x.dims, layout_)});
    for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
      shape.before[axis] =
          is_convolution(spec_) && axis >= 2 ? spec_.integers("pads").at(axis - 2) : 0;
      shape.extents[axis] = x.dims[axis];
    }
    shape.has_zero = has_x_zero() ? 1 : 0;
    const std::size_t buffer = make(std::move(made));
    add(element_launch(fmt::format("shift_integers<{}>", element_name(x.dtype)),
                       "ShiftShape",
                       shape,
                       shape.space.count,
                       {buffer, 0, has_x_zero() ? at_.x_zero_point : 0}),
        constant);
    return buffer;
  }

  /// Adds the launch that sums the right factor: a convolution's filters, a product's columns.
  StepChain::ShiftedFactor added_up() {
    const model::TensorType& w = *spec_.inputs[1];
    StepChain::ShiftedFactor shifted;
    shifted.type = operand(spec_, 0).dtype;
    if (has_x_zero()) {
      shifted.zero_point = at_.x_zero_point;
    }
    const Dimensions& y = spec_.outputs.at(0).dims;
    Dimensions sums;
    Dimensions steps;  // of w, along the sums
    kernels::LineShape shape{};
    if (is_convolution(spec_)) {
      sums = {w.dims.at(0)};
      shape.length = element_count(w) / std::max<std::int64_t>(sums[0], 1);
      shape.step = 1;  // a filter's numbers lie together in both layouts
      steps = {shape.length};
      shifted.strides.assign(y.size(), 0);
      shifted.strides.at(1) = 1;
    } else {
      const std::size_t depth = w.dims.size() < 2 ? 0 : w.dims.size() - 2;
      sums = w.dims;
      steps = compute_strides(w.dims, TensorLayout::kChannelsFirst);
      shape.length = sums.at(depth);
      shape.step = steps[depth];
      sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(depth));
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(depth));
      shifted.strides = along_result(sums, y);
    }
    shape.space = plain_space(sums, {compute_strides(sums, TensorLayout::kChannelsFirst), steps});
    shifted.sums =
        make({{model::DataType::kS32, sums, false, {}}, TensorLayout::kChannelsFirst, w.constant});
    add(element_launch("add_up_integers", "LineShape", shape, shape.space.count, {shifted.sums, 1}),
        w.constant);
    return shifted;
  }

  /// Returns the strides of the columns' sums along a product's result. Along its rows they are 0.
  [[nodiscard]] Dimensions along_result(const Dimensions& sums, const Dimensions& y) const {
    if (spec_.inputs[1]->dims.size() < 2) {
      return Dimensions(y.size(), 0);
    }
    Dimensions extents = sums;
    Dimensions strides = compute_strides(sums, TensorLayout::kChannelsFirst);
    if (spec_.inputs[0]->dims.size() > 1) {
      extents.insert(extents.end() - 1, 1);
      strides.insert(strides.end() - 1, 0);
    }
    return broadcast_strides(extents, strides, y);
  }

  const model::LayerSpec& spec_;
  TensorLayout layout_;
  model::QuantizedProduct at_;
  IntegerForm form_;
};

}  // namespace

model::LayerSpec integer_product_of(const model::LayerSpec& spec) {
  const model::TensorType& w = operand(spec, 1);
  if (w.dtype != model::DataType::kS8 ||
      spec.has_input(model::quantized_product(spec).w_zero_point)) {
    throw Unsupported("libraries multiply s8 with s8: weights of u8 or with a zero point");
  }
  const std::size_t x_zero = model::quantized_product(spec).x_zero_point;
  if (spec.has_input(x_zero) && spec.inputs[x_zero]->dtype != operand(spec, 0).dtype) {
    throw Unsupported("a zero point of another type than its operand");
  }
  model::LayerSpec product = spec;
  product.inputs = {factor_of(spec), w};
  product.outputs.at(0).dtype = model::DataType::kS32;
  product.epilogue.clear();
  if (is_convolution(spec) && is_copied(spec)) {
    product.attributes["pads"] = Dimensions(spec.integers("pads").size(), 0);
  }
  return product;
}

namespace {

/// Returns the product's plan with the launches of built-in kernels before and after it.
ExecutionPlan composed(const model::LayerSpec& spec,
                       const IntegerForm& form,
                       TensorLayout result,
                       ExecutionPlan product,
                       const KernelStep& kernel) {
  ExecutionPlan plan =
      begin_plan(spec, form.inputs, std::vector<TensorLayout>(spec.outputs.size(), result));
  plan.implementation = std::string(form.before.empty() ? "" : "plumb:shift+") +
                        product.implementation + (form.behind.empty() ? "" : "+plumb:scale");
  plan.workspace_bytes = product.workspace_bytes;
  plan.creation = product.creation;
  plan.attributes = product.attributes;
  for (const ExecutionPlan::Scratch& made : form.made) {
    add_scratch(plan, made);
  }
  std::vector<std::size_t> map{form.factors[0], form.factors[1], form.sums};
  for (std::size_t i = map.size(); i < product.buffers.size(); ++i) {
    map.push_back(plan.buffers.size());
    plan.buffers.push_back(product.buffers[i]);
  }
  append_launches(plan.once, form.once, plan, kernel);
  for (const DeviceStep& step : product.once) {
    plan.once.push_back(mapped(step, map));
  }
  append_launches(plan.steps, form.before, plan, kernel);
  for (const DeviceStep& step : product.steps) {
    plan.steps.push_back(mapped(step, map));
  }
  append_launches(plan.steps, form.behind, plan, kernel);
  return plan;
}

}  // namespace

std::vector<VariantBuilder> integer_variants(
    const model::LayerSpec& spec,
    const std::function<std::vector<VariantBuilder>(const model::LayerSpec&)>& library,
    const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  for (VariantBuilder& product : library(integer_product_of(spec))) {
    const TensorLayout result = product.outputs.at(0);
    IntegerForm form = Writer(spec, result).run();
    if (form.before.empty() && form.behind.empty()) {
      builders.push_back(std::move(product));
      continue;
    }
    VariantBuilder builder;
    builder.text = product.text;
    builder.text += form.before.empty() ? "" : kShiftedOperands;
    builder.text += form.behind.empty() ? "" : kScalesApart;
    builder.inputs = form.inputs;
    builder.outputs.assign(spec.outputs.size(), result);
    builder.attributes = std::move(product.attributes);
    builder.build =
        [spec, form = std::move(form), result, build = std::move(product.build), kernel] {
          return composed(spec, form, result, build(), kernel);
        };
    builders.push_back(std::move(builder));
  }
  return builders;
}

}  // namespace plumb::cuda
