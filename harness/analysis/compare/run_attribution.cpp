// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/run_attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/analysis/bounds/process_pool.hpp"
#include "harness/analysis/compare/finding_groups.hpp"
#include "harness/analysis/compare/model_attribution.hpp"
#include "harness/analysis/compare/model_comparison.hpp"

namespace plumb::analysis {
namespace {

/// Lists the models that execute a layer.
std::vector<std::string> models_with(const RunSide& side, const std::string& key) {
  std::vector<std::string> models;
  for (const auto& [subject, executions] : side.executions) {
    const bool there = std::any_of(executions.begin(), executions.end(), [&](const auto& each) {
      return std::any_of(
          each.layers.begin(), each.layers.end(), [&](const results::ExecutedLayer& layer) {
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
    const auto others = candidate.executions.find(subject);
    if (others == candidate.executions.end()) {
      continue;
    }
    const std::vector<ReplicatedExecution> after = replicated_executions(others->second);
    for (const ReplicatedExecution& before : replicated_executions(executions)) {
      const results::Execution& each = *before.told;
      const auto same = std::find_if(after.begin(), after.end(), [&](const auto& other) {
        return other.told->mode == each.mode && other.told->scenario == each.scenario &&
               other.told->turn == each.turn;
      });
      if (same == after.end()) {
        continue;
      }
      auto split = attribute_model(subject, each, *same->told, result.deviation.relative);
      if (!split) {
        continue;
      }
      const std::string series = end_to_end_series(subject, each.mode, each.scenario);
      for (MetricComparison& metric : result.metrics) {
        const bool changed = metric.verdict == ComparisonVerdict::kRegressed ||
                             metric.verdict == ComparisonVerdict::kImproved;
        if (changed && metric.series == series) {
          metric.causes = find_causes(*split);
        }
      }
      result.attributions.push_back(std::move(*split));
    }
  }
}

std::vector<QualificationFinding> group_findings(const RunSide& baseline,
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

}  // namespace plumb::analysis
