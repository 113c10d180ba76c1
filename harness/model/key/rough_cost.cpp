// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/rough_cost.hpp"

#include "harness/model/key/layer_cost.hpp"

namespace plumb::model {

double rough_cost(const LayerSpec& spec) {
  constexpr double kOperationsPerByte = 8.0;
  const LayerCost cost = compute_cost(spec);
  const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  return cost.flops.value + kOperationsPerByte * static_cast<double>(bytes.value);
}

}  // namespace plumb::model
