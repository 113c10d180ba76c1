// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if_rows.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
namespace {

/// Predicts everything together: the sum over the fused steps in bf16, or their critical path.
WhatIfResult everything(const WhatIfInput& input, bool parallel) {
  WhatIfResult result;
  if (input.instance.dtype != to_text(model::DataType::kF32)) {
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
      priced_partition(lower, input.results, PartitionMode::kFusion, "bf16");
  if (!half.why_not.empty()) {
    result.why_not = half.why_not;
    return result;
  }
  result.prerequisites = {"all that fusion, bf16 and best_variant need"};
  StepSum after = half.sum;
  if (parallel) {
    result.prerequisites.emplace_back("a processor for each branch");
    after = sum_steps(partition_model(lower, input.results, PartitionMode::kFusion).critical);
  }
  conclude(result, full.sum.time(), after.time());
  return result;
}

}  // namespace

WhatIfResult all_sequential_what_if(const WhatIfInput& input) {
  WhatIfResult result = everything(input, false);
  result.mode = "bf16, fused, fastest variants, hot; against the layers as written in f32";
  return result;
}

WhatIfResult all_what_if(const WhatIfInput& input) {
  WhatIfResult result = everything(input, true);
  result.mode =
      "bf16, fused, fastest variants, branches side by side, hot; against the layers as written "
      "in f32";
  return result;
}

}  // namespace plumb::analysis
