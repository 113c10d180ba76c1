// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
namespace {

/// Returns why fused layers can be compared with nothing. Empty: all layers as written have a time.
std::string find_unmeasured(const ModelPartition& plain) {
  const std::size_t missing = sum_steps(plain.steps).missing;
  return missing == 0 ? std::string()
                      : fmt::format("no time for {} of {} unfused layers to compare with",
                                    missing,
                                    plain.steps.size());
}

/// Fills in what the cheapest partition with fused layers saves against the layers as written.
void compare_partitions(const WhatIfInput& input,
                        const ModelPartition& plain,
                        const ModelPartition& fused,
                        WhatIfResult& result) {
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
  conclude(result, sum_steps(plain.steps).time, sum_steps(fused.steps).time);
}

bool has_time(const WhatIfInput& input, const rewrite::Match& match) {
  return input.results.best(match.key, results::CacheMode::kNone).has_value();
}

}  // namespace

WhatIfResult fusion_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "fusion and folding wherever it is faster, fastest variants, hot";
  const ModelPartition& plain = input.partition_in({}, PartitionMode::kPlain);
  result.why_not = find_unmeasured(plain);
  if (!result.why_not.empty()) {
    return result;
  }
  const std::vector<rewrite::Match> found = rewrite::matches(input.graph);
  const bool any_measured =
      std::any_of(found.begin(), found.end(), [&](const rewrite::Match& match) {
        return has_time(input, match);
      });
  if (!any_measured) {
    result.applies = !found.empty();
    result.why_not = found.empty() ? "no fusion rule applies to this model"
                                   : "no fused layer has a time in this run";
    return result;
  }
  result.prerequisites = {
      "an executor that hands the library fused layers",
      "BatchNorm and constant scales folded into the weights once, before the run"};
  compare_partitions(input, plain, input.partition_in({}, PartitionMode::kFusion), result);
  return result;
}

WhatIfResult fusion_family_what_if(const WhatIfInput& input, std::string_view family) {
  WhatIfResult result;
  const std::vector<rewrite::Match> places = rewrite::largest_matches(
      input.graph, [](const rewrite::Match&) { return true; }, family);
  result.mode = "these fusions wherever one is faster, fastest variants, hot";
  if (places.empty()) {
    result.applies = false;
    result.why_not = "the step has no layers that follow each other so";
    return result;
  }
  const ModelPartition& plain = input.partition_in({}, PartitionMode::kPlain);
  result.why_not = find_unmeasured(plain);
  if (!result.why_not.empty()) {
    return result;
  }
  std::size_t timed = 0;
  std::size_t unknown = 0;
  std::string refusal;  // of the first place that has none of both
  for (const rewrite::Match& place : places) {
    const std::optional<results::Outcome> failure = input.results.failure(place.key);
    if (has_time(input, place)) {
      ++timed;
    } else if (!failure) {
      ++unknown;
    } else if (refusal.empty()) {
      result.applies = failure->kind != results::Outcome::Kind::kUnsupported;
      refusal = fmt::format("{}: {}: {}",
                            name_of(input.graph, place.layers),
                            to_text(failure->kind),
                            failure->reason);
    }
  }
  result.applies = result.applies || timed + unknown > 0;
  if (unknown > 0 || timed == 0) {
    result.why_not = unknown == 0 ? refusal
                                  : fmt::format("no time for {} of {} fused layers: run with "
                                                "--mode {}",
                                                unknown,
                                                places.size(),
                                                family);
    return result;
  }
  result.mode += fmt::format("; {} of {} can be fused here", timed, places.size());
  result.mode += refusal.empty() ? "" : ", the first that cannot: " + refusal;
  result.prerequisites = {"an executor that hands the library these fused layers"};
  compare_partitions(input, plain, input.partition_in({}, PartitionMode::kFusion, family), result);
  return result;
}

}  // namespace plumb::analysis
