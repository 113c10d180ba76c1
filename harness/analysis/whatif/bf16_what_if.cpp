// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if_rows.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
WhatIfResult bf16_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "bf16 tensors, accumulation in f32; not fused, fastest variants, hot";
  if (input.instance.dtype != "f32") {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    return result;
  }
  const PricedPartition full =
      priced_partition(input.graph, input.results, PartitionMode::kPlain, input.instance.dtype);
  if (!full.why_not.empty()) {
    result.why_not = full.why_not;
    return result;
  }
  const model::Graph lower = rewrite::with_precision(input.graph, model::DataType::kBf16);
  const PricedPartition half =
      priced_partition(lower, input.results, PartitionMode::kPlain, "bf16");
  if (!half.why_not.empty()) {
    result.why_not = half.why_not;
    return result;
  }
  for (std::size_t i = 0; i < full.steps.size(); ++i) {
    const PartitionStep& from = full.steps[i];
    const PartitionStep& to = half.steps[i];
    if (from.key != to.key) {
      result.layers.push_back({name_of(lower, to.layers),
                               to.key,
                               from.time->time.median,
                               to.time->time.median,
                               fmt::format("{} → {}", from.time->variant, to.time->variant)});
    }
  }
  result.prerequisites = {
      "weights converted to bf16 once, inputs and outputs at the edges of the model",
      "accuracy checked on the task: bf16 keeps 8 bits of mantissa"};
  if (input.results.calibration() &&
      input.results.calibration()->peak_bf16.value <= input.results.calibration()->peak_f32.value) {
    result.prerequisites.emplace_back(
        "a CPU with bf16 arithmetic (AVX512_BF16 or AMX): here it is no faster than f32");
  }
  conclude(result, full.sum.time(), half.sum.time());
  return result;
}

}  // namespace plumb::analysis
