// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/micro_batch/layer_division.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

/// Describes how a layer is executed: "8 in 2 parts: impl=…".
std::string describe(const LayerDivision& division, std::int64_t batch) {
  if (division.parts == 1) {
    return fmt::format("{} undivided, by {}", batch, division.variant);
  }
  return fmt::format("{} in {} parts: {}", batch, division.parts, division.variant);
}

}  // namespace

WhatIfResult micro_batch_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = fmt::format(
      "batches of convolutions divided, with at most {} MiB of workspace each (µ-cuDNN's WR, {}); "
      "not fused, hot",
      input.division.workspace_cap.value >> 20,
      to_text(input.division.policy));
  std::vector<PartitionStep> before = input.partition_in({}, PartitionMode::kPlain).steps;
  const auto spec_of = [&](const PartitionStep& step) -> const model::LayerSpec& {
    return input.graph.layers[step.layers.front()].spec;  // steps that are not fused have one layer
  };
  std::vector<PartitionStep> after;
  const bool divisible = std::any_of(before.begin(), before.end(), [&](const PartitionStep& step) {
    return !part_sizes(spec_of(step), input.division.policy).empty();
  });
  if (!divisible) {
    result.applies = false;
    result.why_not = "no convolution has a batch of two or more: use --batch";
    return result;
  }
  for (PartitionStep& step : before) {
    step.time = served_time(input.results, step.key);
    const std::string name = name_of(input.graph, step.layers);
    if (!step.time) {
      result.why_not = fmt::format("no time for {}", name);
      return result;
    }
    const model::LayerSpec& spec = spec_of(step);
    const std::vector<std::int64_t> sizes = part_sizes(spec, input.division.policy);
    if (sizes.empty()) {
      after.push_back(step);
      continue;
    }
    const LayerDivision division = divide_layer(input.results, spec, input.division);
    if (!division.why_not.empty()) {
      result.layers.clear();
      result.why_not = fmt::format(
          "{}: {}; a run in the mode micro_batch measures what is missing", name, division.why_not);
      return result;
    }
    for (const LayerDivision::Step& each : division.steps) {
      PartitionStep part = step;
      part.key = each.key;
      part.time = each.time;
      after.push_back(std::move(part));
    }
    if (!division.own_choice) {
      result.layers.push_back({name,
                               step.key,
                               step.time->time.median,
                               division.time(),
                               describe(division, sizes.back())});
    }
  }
  result.prerequisites = {"a batch that may be executed in parts"};
  conclude(result, sum_steps(before).time, sum_steps(after).time);
  return result;
}

}  // namespace plumb::analysis
