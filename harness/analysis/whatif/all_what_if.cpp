// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/mode_facts.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

constexpr std::string_view kType = "bf16";

/// Predicts everything together: the sum over the fused steps in bf16, or their critical path. It
/// is set against the library's own choices, or the fastest variants where these were not timed.
WhatIfResult everything(const WhatIfInput& input, bool parallel) {
  WhatIfResult result;
  const std::optional<measure::MeasuredTime> chosen = price_mode(input, {});
  result.mode =
      fmt::format("{}, fused, fastest variants{}, hot; against {}",
                  kType,
                  parallel ? ", branches side by side" : "",
                  chosen ? "the library's own choices in f32" : "the layers as written in f32");
  result.why_not = parallel ? input.why_no_branches() : std::string();
  if (!result.why_not.empty()) {
    result.applies = false;
    return result;
  }
  const std::optional<PricedPartition> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const ModelPartition& fused = input.partition_in(kType, PartitionMode::kFusion);
  const PricedPartition half =
      priced_partition(input.graph_in(kType), input.results, fused.steps, kType);
  if (!half.why_not.empty()) {
    result.why_not = half.why_not;
    return result;
  }
  result.prerequisites = {"all that fusion, bf16 and best_variant need"};
  StepSum after = half.sum;
  if (parallel) {
    result.prerequisites.emplace_back("a processor for each branch");
    after = sum_steps(fused.critical);
  }
  conclude(result, chosen.value_or(full->sum.time), after.time);
  return result;
}

}  // namespace

WhatIfResult all_sequential_what_if(const WhatIfInput& input) {
  return everything(input, false);
}

WhatIfResult all_what_if(const WhatIfInput& input) {
  return everything(input, true);
}

}  // namespace plumb::analysis
