// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::analysis {
namespace {

/// Times of the layers of a step, of which one without a time is named.
struct TimedLayers {
  std::vector<PartitionStep> steps;
  std::string missing;  ///< empty: all have a time
};

TimedLayers timed_layers(const model::Graph& graph, const ResultSet& results) {
  TimedLayers timed;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (layer.role != model::Layer::Role::kCompute) {
      continue;
    }
    timed.steps.push_back({{id}, {}, layer.key, served_time(results, layer.key), false});
    if (!timed.steps.back().time && timed.missing.empty()) {
      timed.missing = layer.name;
    }
  }
  return timed;
}

}  // namespace

WhatIfResult folded_norms_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "frozen batch normalisations folded into the convolutions before them; not fused, library's "
      "choices, hot";
  const std::optional<rewrite::FoldedStep> folded = rewrite::folded_norms(input.graph);
  if (!folded) {
    result.applies = false;
    result.why_not = rewrite::is_step(input.graph)
                         ? "no batch normalisation behind a convolution is frozen: run with "
                           "--freeze batch_norm"
                         : "the model is not trained: run with --training";
    return result;
  }
  const TimedLayers before = timed_layers(input.graph, input.results);
  const TimedLayers after = timed_layers(folded->graph, input.results);
  if (!before.missing.empty() || !after.missing.empty()) {
    result.why_not = fmt::format("no time for {}: run with --mode folded_norms",
                                 before.missing.empty() ? after.missing : before.missing);
    return result;
  }
  std::map<model::LayerId, Seconds> replaced;  // what is executed in a layer's place
  for (const PartitionStep& step : after.steps) {
    replaced[folded->origins[step.layers.front()]] += step.time->time.median;
  }
  for (const PartitionStep& step : before.steps) {
    const model::LayerId id = step.layers.front();
    const Seconds now = step.time->time.median;
    if (replaced[id] != now) {
      result.layers.push_back({input.graph.layers[id].name, step.key, now, replaced[id], "folded"});
    }
  }
  result.mode += fmt::format("; {} of them", folded->folded);
  result.prerequisites = {"batch normalisations that are never trained again"};
  conclude(result, sum_steps(before.steps).time, sum_steps(after.steps).time);
  return result;
}

}  // namespace plumb::analysis
