// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

WhatIfResult best_variant_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "fastest variant of every layer instead of the library's own choice; not fused, hot";
  const ModelPartition& plain = input.partition_in({}, PartitionMode::kPlain);
  std::vector<PartitionStep> before = plain.steps;
  std::vector<PartitionStep> after = plain.steps;
  std::string first_missing;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < plain.steps.size(); ++i) {
    const std::string name = name_of(input.graph, plain.steps[i].layers);
    before[i].time = input.results.library_choice(plain.steps[i].key, results::CacheMode::kNone);
    if (!before[i].time) {
      first_missing = missing++ == 0 ? name : first_missing;
      continue;
    }
    // A confirmed winner may be slower than a choice that nothing confirmed. Then keep the choice.
    if (!after[i].time || after[i].time->time.median >= before[i].time->time.median) {
      after[i].time = before[i].time;
      continue;
    }
    result.layers.push_back(
        {name,
         plain.steps[i].key,
         before[i].time->time.median,
         after[i].time->time.median,
         fmt::format("{} → {}", before[i].time->variant, after[i].time->variant)});
  }
  if (missing > 0) {
    result.layers.clear();
    result.why_not =
        fmt::format("no time of the library's own choice for {} of {} layers, first {}",
                    missing,
                    plain.steps.size(),
                    first_missing);
    return result;
  }
  result.prerequisites = {"a way to tell the library which implementation to use for a layer"};
  conclude(result, sum_steps(before).time, sum_steps(after).time);
  return result;
}

}  // namespace plumb::analysis
