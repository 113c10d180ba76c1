// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"

namespace plumb::analysis {
namespace {

double mebibytes(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1 << 20);
}

}  // namespace

WhatIfResult checkpointing_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "values computed again for the backward pass; not fused, library's choices, hot";
  const std::optional<Bytes> cap = memory_cap_of(input.instance);
  std::optional<rewrite::CheckpointedGraph> small = rewrite::smallest_step(input.graph);
  if (!small) {
    result.applies = false;
    result.why_not = "the model is not trained: run with --training";
    return result;
  }
  if (cap) {
    const Bytes least = model::compute_memory(small->graph).total();
    small = rewrite::step_within(input.graph, *cap);
    if (!small) {
      result.why_not = fmt::format("the step takes {:.1f} MiB at least, and its cap is {:.1f} MiB",
                                   mebibytes(least),
                                   mebibytes(*cap));
      return result;
    }
  }
  std::vector<PartitionStep> before = input.partition_in({}, PartitionMode::kPlain).steps;
  std::map<model::LayerId, std::size_t> executed;
  for (const model::LayerId origin : small->origins) {
    ++executed[origin];
  }
  std::vector<PartitionStep> after;
  for (PartitionStep& step : before) {
    const std::string name = name_of(input.graph, step.layers);
    step.time = served_time(input.results, step.key);
    if (!step.time) {
      result.layers.clear();
      result.why_not = fmt::format("no time for {}", name);
      return result;
    }
    std::size_t times = 1;
    for (const model::LayerId layer : step.layers) {
      times = std::max(times, executed[layer]);
    }
    after.insert(after.end(), times, step);
    if (times > 1) {
      const Seconds once = step.time->time.median;
      result.layers.push_back(
          {name, step.key, once, static_cast<double>(times) * once, "computed twice"});
    }
  }
  const model::GraphMemory all = model::compute_memory(input.graph);
  const model::GraphMemory less = model::compute_memory(small->graph);
  result.mode += fmt::format(
      "; {} layers twice, and results of layers need {:.1f} in place of {:.1f} MiB at once",
      small->repeated,
      mebibytes(less.peak),
      mebibytes(all.peak));
  result.prerequisites = {"layers that compute the same when they are executed again"};
  conclude(result, sum_steps(before).time, sum_steps(after).time);
  return result;
}

}  // namespace plumb::analysis
