// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

WhatIfResult co_schedule_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "fused steps that share the processors by Rammer's wavefront schedule, fastest variants, "
      "hot; against one step after the other with all threads";
  if (input.on_device.value_or(false)) {
    result.applies = false;
    result.why_not =
        "steps share a GPU by the grids of their kernels, and not by threads: the mode streams "
        "executes branches side by side there, each on the whole GPU; green contexts, which would "
        "divide it, are not built";
    return result;
  }
  const ThreadScaling none;
  const ThreadScaling& scaling = input.scaling != nullptr ? *input.scaling : none;
  result.why_not = why_no_schedule(scaling);
  if (!result.why_not.empty()) {
    result.applies = scaling.processors() > 1;
    return result;
  }
  const std::optional<CoSchedule> schedule =
      co_schedule(input.graph, input.results, scaling, PartitionMode::kFusion);
  const StepSum before = sum_steps(schedule->steps);
  if (before.missing > 0) {
    result.why_not =
        fmt::format("no time for {} of {} steps", before.missing, schedule->steps.size());
    return result;
  }
  result.prerequisites = {
      "an executor that starts steps on chosen threads; the mode executes whole branches on lanes",
      fmt::format("{} processors with a core each", scaling.processors())};
  conclude(result, before.time, {schedule->schedule.seconds, schedule->schedule.interval});
  return result;
}

}  // namespace plumb::analysis
