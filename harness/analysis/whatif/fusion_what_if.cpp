// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {

WhatIfResult fusion_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "fusion and folding wherever it is faster, fastest variants, hot";
  const ModelPartition& plain = input.partition_in({}, PartitionMode::kPlain);
  const StepSum before = sum_steps(plain.steps);
  if (before.missing > 0) {
    result.why_not = fmt::format(
        "no time for {} of {} unfused layers to compare with", before.missing, plain.steps.size());
    return result;
  }
  bool any_measured = false;
  const std::vector<rewrite::Match> found = rewrite::matches(input.graph);
  for (const rewrite::Match& match : found) {
    any_measured =
        any_measured || input.results.best(match.key, results::CacheMode::kNone).has_value();
  }
  if (!any_measured) {
    result.applies = !found.empty();
    result.why_not = found.empty() ? "no fusion rule applies to this model"
                                   : "no fused layer has a time in this run";
    return result;
  }
  const ModelPartition& fused = input.partition_in({}, PartitionMode::kFusion);
  std::map<model::LayerId, Seconds> alone;
  for (const PartitionStep& step : plain.steps) {
    alone[step.layers.front()] = step.time->time.median;
  }
  for (const PartitionStep& step : fused.steps) {
    if (step.rewrite.empty()) {
      continue;
    }
    Seconds parts{};
    for (const model::LayerId layer : step.layers) {
      parts += alone[layer];
    }
    result.layers.push_back(
        {name_of(input.graph, step.layers), step.key, parts, step.time->time.median, step.rewrite});
  }
  result.prerequisites = {
      "an executor that hands the library fused layers",
      "BatchNorm and constant scales folded into the weights once, before the run"};
  conclude(result, before.time, sum_steps(fused.steps).time);
  return result;
}

}  // namespace plumb::analysis
