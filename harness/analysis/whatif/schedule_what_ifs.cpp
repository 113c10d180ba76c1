// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
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
  const ModelPartition& plain = input.partition_in({}, ModelPartition::Mode::kPlain);
  const ModelPartition::Priced::Sum before = sum_steps(plain.steps);
  if (before.missing > 0) {
    result.why_not = fmt::format("no time for {} of {} layers", before.missing, plain.steps.size());
    return result;
  }
  result.prerequisites = {
      "a processor for each branch: branches that share the threads leave fewer for each layer"};
  conclude(result, before.time, sum_steps(plain.critical).time);
  return result;
}

WhatIfResult graph_capture_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "a device's launches as one captured graph; against launch after launch";
  result.prerequisites = {"a device with launches, and shapes that stay as they are"};
  if (!input.on_device.value_or(true)) {
    result.applies = false;
    result.why_not = "the run is of a processor, which has no launches to capture";
    return result;
  }
  result.why_not =
      "times of layers leave out what a launch costs: execute the model in the modes eager and "
      "captured first";
  return result;
}

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
  const CoSchedule::Scaling none;
  const CoSchedule::Scaling& scaling = input.scaling != nullptr ? *input.scaling : none;
  result.why_not = why_no_schedule(scaling);
  if (!result.why_not.empty()) {
    result.applies = scaling.processors() > 1;
    return result;
  }
  const std::optional<CoSchedule> schedule =
      co_schedule(input.graph, input.results, scaling, ModelPartition::Mode::kFusion);
  const ModelPartition::Priced::Sum before = sum_steps(schedule->steps);
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
