// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/micro_batch/layer_division.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {

WhatIfResult best_variant_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "fastest variant of every layer instead of the library's own choice; not fused, hot";
  const ModelPartition& plain = input.partition_in({}, ModelPartition::Mode::kPlain);
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
  const ModelPartition& plain = input.partition_in({}, ModelPartition::Mode::kPlain);
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
  compare_partitions(input, plain, input.partition_in({}, ModelPartition::Mode::kFusion), result);
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
  const ModelPartition& plain = input.partition_in({}, ModelPartition::Mode::kPlain);
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
                                  : fmt::format(
                                        "no time for {} of {} fused layers: run with "
                                        "--mode {}",
                                        unknown,
                                        places.size(),
                                        family);
    return result;
  }
  result.mode += fmt::format("; {} of {} can be fused here", timed, places.size());
  result.mode += refusal.empty() ? "" : ", the first that cannot: " + refusal;
  result.prerequisites = {"an executor that hands the library these fused layers"};
  compare_partitions(
      input, plain, input.partition_in({}, ModelPartition::Mode::kFusion, family), result);
  return result;
}

WhatIfResult framework_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "the runtime executes what the model needs, by the findings of a trace";
  if (!input.traced) {
    result.applies = false;
    result.why_not =
        fmt::format("the run keeps no trace of this model: plumb trace {} --run RUN makes one",
                    input.instance.model);
    return result;
  }
  const results::ExecutedTrace::Losses& traced = *input.traced;
  const std::string where = traced.stack.empty()
                                ? std::string("from files")
                                : fmt::format("of {} in the mode {}", traced.stack, traced.mode);
  result.mode = fmt::format("the trace {}, without its findings", where);
  if (traced.span <= Seconds(0.0)) {
    result.applies = false;
    result.why_not = fmt::format("the trace {} has no times", where);
    return result;
  }
  // A profiler makes calls longer, so the findings are scaled to the execution without it.
  const Seconds baseline = traced.untraced.value_or(traced.span);
  const double scale = baseline / traced.span;
  Seconds predicted = baseline;
  for (const results::ExecutedTrace::Losses::Loss& loss : traced.losses) {
    // Findings may overlap: together they give back at most the whole execution.
    const Seconds gain = std::min(loss.gain * scale, predicted);
    predicted -= gain;
    result.layers.push_back({loss.layers.empty() ? "whole model" : loss.layers.front(),
                             {},
                             gain,
                             Seconds(0.0),
                             fmt::format("{}: {}", loss.finding, loss.evidence)});
  }
  conclude(result, {baseline, {baseline, baseline}}, {predicted, {predicted, predicted}});
  result.prerequisites = {"a runtime, or settings of it, without these findings"};
  return result;
}

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
  std::vector<PartitionStep> before = input.partition_in({}, ModelPartition::Mode::kPlain).steps;
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
