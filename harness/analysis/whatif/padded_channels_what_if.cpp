// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

/// Returns why a padded layer has no time.
std::string why_no_time(const WhatIfInput& input, const model::LayerKey& padded) {
  const auto failure = input.padded != nullptr ? input.padded->failure(padded) : std::nullopt;
  return failure ? fmt::format("{}: {}", to_text(failure->kind), failure->reason)
                 : "plumb whatif --measure measures it";
}

}  // namespace

WhatIfResult padded_channels_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "channels in whole blocks of the kernels, steps without blocks as they are; fused, fastest "
      "variants, hot";
  if (!input.instance.training.empty()) {
    result.applies = false;
    result.why_not = "gradients are not padded: run without --training";
    return result;
  }
  const PricedPartition before =
      priced_partition(input.graph,
                       input.results,
                       input.partition_in({}, PartitionMode::kFusion).steps,
                       input.instance.dtype);
  std::vector<PartitionStep> after = before.steps;
  std::int64_t widest = 0;
  std::size_t padded = 0;
  std::size_t missing = 0;
  std::string first_missing;
  for (PartitionStep& step : after) {
    const auto block = step.time ? channels_per_block(step.time->variant) : std::nullopt;
    const auto spec = block ? padded_layer(model::parse_key(step.key), *block) : std::nullopt;
    if (!spec) {
      continue;
    }
    ++padded;
    widest = std::max(widest, *block);
    const Seconds as_it_is = step.time->time.median;
    step.key = model::to_key(*spec);
    step.time = input.padded != nullptr ? input.padded->best(step.key, results::CacheMode::kNone)
                                        : std::nullopt;
    const std::string name = name_of(input.graph, step.layers);
    if (step.time) {
      result.layers.push_back({name,
                               step.key,
                               as_it_is,
                               step.time->time.median,
                               fmt::format("whole blocks of {}", *block)});
    } else if (missing++ == 0) {
      first_missing = fmt::format("{}: {}", name, why_no_time(input, step.key));
    }
  }
  if (padded == 0) {
    result.applies = false;
    result.why_not = fmt::format(
        "{}; another tile is another variant, which best_variant answers",
        input.on_device.value_or(false)
            ? "variants of a GPU do not say which channels fill their tiles: reports show its waves"
            : "no step has blocks that are not full, by the names of the variants");
    return result;
  }
  result.why_not = before.why_not;
  if (result.why_not.empty() && missing > 0) {
    result.why_not = fmt::format("no time with padded channels for {} of {} steps, first {}",
                                 missing,
                                 padded,
                                 first_missing);
  }
  if (!result.why_not.empty()) {
    result.layers.clear();
    return result;
  }
  result.prerequisites = {
      fmt::format("a model with channels in multiples of {}: no mode pads them", widest),
      "the layers around padded, too: those without blocks then take longer than they are priced"};
  conclude(result, before.sum.time, sum_steps(after).time);
  return result;
}

}  // namespace plumb::analysis
