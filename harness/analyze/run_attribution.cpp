// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/run_attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/analyze/finding_groups.hpp"
#include "harness/analyze/model_attribution.hpp"
#include "harness/analyze/model_comparison.hpp"

namespace plumb {
namespace {

/// Returns the newest execution of a mode and scenario: an earlier one was resumed over.
const Execution* newest_of(const RunSide& side, const std::string& subject, const Execution& like) {
  const auto found = side.executions.find(subject);
  const Execution* newest = nullptr;
  if (found != side.executions.end()) {
    for (const Execution& each : found->second) {
      if (each.mode == like.mode && each.scenario == like.scenario &&
          (newest == nullptr || newest->row.started <= each.row.started)) {
        newest = &each;
      }
    }
  }
  return newest;
}

/// Lists the models that execute a layer.
std::vector<std::string> models_with(const RunSide& side, const std::string& key) {
  std::vector<std::string> models;
  for (const auto& [subject, executions] : side.executions) {
    const bool there = std::any_of(executions.begin(), executions.end(), [&](const auto& each) {
      return std::any_of(each.layers.begin(), each.layers.end(), [&](const ExecutedLayer& layer) {
        return layer.key.text == key;
      });
    });
    if (there) {
      models.push_back(subject);
    }
  }
  return models;
}

}  // namespace

void attribute_models(const RunSide& baseline, const RunSide& candidate, RunComparison& result) {
  for (const auto& [subject, executions] : baseline.executions) {
    for (const Execution& each : executions) {
      const Execution* const after = newest_of(candidate, subject, each);
      if (after == nullptr || newest_of(baseline, subject, each) != &each) {
        continue;
      }
      auto split = attribute_model(subject, each, *after, result.deviation.relative);
      if (!split) {
        continue;
      }
      const std::string series = end_to_end_series(subject, each.mode, each.scenario);
      for (MetricComparison& metric : result.metrics) {
        const bool changed = metric.verdict == ComparisonVerdict::kRegressed ||
                             metric.verdict == ComparisonVerdict::kImproved;
        if (changed && metric.series == series) {
          metric.causes = causes_of(*split);
        }
      }
      result.attributions.push_back(std::move(*split));
    }
  }
}

std::vector<QualificationFinding> findings_of(const RunSide& baseline,
                                              const std::vector<ComparedLayer>& layers) {
  FindingGroups groups;
  for (const ComparedLayer& test : layers) {
    const bool broken = test.metric.verdict == ComparisonVerdict::kBroken;
    if (test.key.empty() || (!broken && test.metric.verdict != ComparisonVerdict::kRegressed)) {
      continue;
    }
    Cause cause = implementation_cause(test.baseline_variant, test.candidate_variant);
    if (broken) {
      cause = {test.metric.reason, 1.0, "worked in the baseline"};
    } else {
      for (const Cause& further : test.metric.causes) {
        cause.evidence += fmt::format("; {}: {}", further.cause, further.evidence);
      }
    }
    groups.add(cause, test.key, test.metric.delta, models_with(baseline, test.key));
  }
  return groups.findings();
}

}  // namespace plumb
