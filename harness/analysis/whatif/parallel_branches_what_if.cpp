// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

WhatIfResult parallel_branches_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "branches side by side, each layer as fast as it is alone; not fused, fastest variants, hot";
  result.why_not = input.why_no_branches();
  if (!result.why_not.empty()) {
    result.applies = false;
    return result;
  }
  const ModelPartition& plain = input.partition_in({}, PartitionMode::kPlain);
  const StepSum before = sum_steps(plain.steps);
  if (before.missing > 0) {
    result.why_not = fmt::format("no time for {} of {} layers", before.missing, plain.steps.size());
    return result;
  }
  result.prerequisites = {
      "a processor for each branch: branches that share the threads leave fewer for each layer"};
  conclude(result, before.time, sum_steps(plain.critical).time);
  return result;
}

}  // namespace plumb::analysis
