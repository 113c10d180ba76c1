// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/f32_price.hpp"

#include <fmt/format.h>

#include <utility>

namespace plumb::analysis {

std::optional<PricedPartition> price_in_f32(const WhatIfInput& input, WhatIfResult& result) {
  if (input.instance.dtype != to_text(model::DataType::kF32)) {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    result.applies = false;
    return std::nullopt;
  }
  PricedPartition full = priced_partition(input.graph,
                                          input.results,
                                          input.partition_in({}, PartitionMode::kPlain).steps,
                                          input.instance.dtype);
  if (!full.why_not.empty()) {
    result.why_not = full.why_not;
    return std::nullopt;
  }
  return full;
}

}  // namespace plumb::analysis
