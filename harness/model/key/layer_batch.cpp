// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/layer_batch.hpp"

#include "harness/base/error.hpp"

namespace plumb::model {

std::optional<std::int64_t> find_batch(const LayerSpec& spec) {
  if (spec.op != "conv" || spec.outputs.size() != 1 || !spec.inputs.at(0)) {
    return std::nullopt;
  }
  const std::int64_t batch = spec.outputs[0].dims.at(0);
  return has_images(*spec.inputs[0], batch) ? std::optional(batch) : std::nullopt;
}

bool has_images(const TensorType& operand, std::int64_t batch) {
  constexpr std::size_t kImageRank = 3;  // batch, channels and at least one spatial axis
  return !operand.constant && operand.dims.size() >= kImageRank && operand.dims[0] == batch;
}

LayerSpec with_batch(LayerSpec spec, std::int64_t batch) {
  const std::optional<std::int64_t> whole = find_batch(spec);
  PLUMB_CHECK(whole.has_value() && batch > 0);
  for (std::optional<TensorType>& operand : spec.inputs) {
    if (operand && has_images(*operand, *whole)) {
      operand->dims[0] = batch;
    }
  }
  spec.outputs[0].dims[0] = batch;
  return spec;
}

}  // namespace plumb::model
