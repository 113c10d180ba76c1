// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/integer_offers.hpp"

#include <utility>

#include "runners/cuda/integer_form.hpp"

namespace plumb::cuda {
namespace {

/// Puts the product's plan between what our kernels do.
DevicePlan composed(const LayerSpec& spec,
                    const IntegerForm& form,
                    TensorLayout result,
                    DevicePlan product,
                    const KernelStep& kernel) {
  DevicePlan plan =
      begin_plan(spec, form.inputs, std::vector<TensorLayout>(spec.outputs.size(), result));
  plan.implementation = std::string(form.before.empty() ? "" : "plumb:shift+") +
                        product.implementation + (form.behind.empty() ? "" : "+plumb:scale");
  plan.workspace_bytes = product.workspace_bytes;
  plan.creation = product.creation;
  plan.attributes = product.attributes;
  for (const MadeTensor& made : form.made) {
    add_made(plan, made);
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

std::vector<DeviceOffer> integer_offers(
    const LayerSpec& spec,
    const std::function<std::vector<DeviceOffer>(const LayerSpec&)>& library,
    const KernelStep& kernel) {
  std::vector<DeviceOffer> offers;
  for (DeviceOffer& product : library(integer_product_of(spec))) {
    const TensorLayout result = product.outputs.at(0);
    IntegerForm form = integer_form(spec, result);
    if (form.before.empty() && form.behind.empty()) {
      offers.push_back(std::move(product));
      continue;
    }
    DeviceOffer offer;
    offer.text = product.text;
    offer.text += form.before.empty() ? "" : kShiftedOperands;
    offer.text += form.behind.empty() ? "" : kScalesApart;
    offer.inputs = form.inputs;
    offer.outputs.assign(spec.outputs.size(), result);
    offer.attributes = std::move(product.attributes);
    offer.build = [spec, form = std::move(form), result, build = std::move(product.build), kernel] {
      return composed(spec, form, result, build(), kernel);
    };
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace plumb::cuda
