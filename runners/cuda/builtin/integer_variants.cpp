// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/integer_variants.hpp"

#include <utility>

#include "runners/cuda/builtin/integer_form.hpp"

namespace plumb::cuda {
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
  for (const ScratchTensor& made : form.made) {
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
    IntegerForm form = integer_form(spec, result);
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
