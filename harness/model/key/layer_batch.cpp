// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/layer_batch.hpp"

#include <string>

#include "harness/base/error.hpp"

namespace plumb::model {

std::optional<std::int64_t> find_batch(const LayerSpec& spec) {
  const bool convolves = spec.op == "conv" || spec.op == "conv_backward_data" || adds_parts(spec);
  return convolves && spec.has_input(0) ? std::optional(spec.inputs[0]->dims.at(0)) : std::nullopt;
}

bool has_images(const LayerSpec& spec, std::size_t operand) {
  constexpr std::size_t kFirstSummand = 3;  // operands 1 and 2 of a convolution: weights and bias
  const TensorType& images = spec.inputs.at(0).value();
  if (operand == 0 || (operand == 1 && adds_parts(spec))) {
    return true;
  }
  return operand >= kFirstSummand && spec.has_input(operand) &&
         spec.inputs[operand]->dims.size() == images.dims.size() &&
         spec.inputs[operand]->dims[0] == images.dims[0] && !spec.inputs[operand]->constant;
}

bool adds_parts(const LayerSpec& spec) {
  return spec.op == "conv_backward_weights";
}

std::vector<LayerKey> part_additions(const LayerSpec& spec) {
  std::vector<LayerKey> additions;
  for (const TensorType& sum : adds_parts(spec) ? spec.outputs : std::vector<TensorType>{}) {
    LayerSpec addition;
    addition.op = "binary";
    addition.inputs = {sum, sum};
    addition.outputs = {sum};
    addition.accumulate = spec.accumulate;
    addition.math = spec.math;
    addition.attributes = {{"fn", std::string("add")}};
    additions.push_back(to_key(addition));
  }
  return additions;
}

LayerSpec with_batch(LayerSpec spec, std::int64_t batch) {
  PLUMB_CHECK(find_batch(spec).has_value() && batch > 0);
  const LayerSpec whole = spec;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (has_images(whole, i)) {
      spec.inputs[i]->dims[0] = batch;
    }
  }
  if (!adds_parts(spec)) {
    spec.outputs.at(0).dims[0] = batch;
  }
  return spec;
}

}  // namespace plumb::model
