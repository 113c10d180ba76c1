// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/regression_state.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace plumb::analysis {
namespace {

constexpr loadgen::ScenarioName kWatchedScenario = loadgen::ScenarioName::kSingleStream;

using MetricName = std::tuple<ModelInstance, std::string, std::string>;  // instance, metric, mode

struct Finding {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::optional<double> ratio;

  [[nodiscard]] bool bad() const {
    return verdict == ComparisonVerdict::kBroken || verdict == ComparisonVerdict::kRegressed;
  }
};
using Findings = std::map<MetricName, Finding>;

const ModelBounds* model_in(const ComparableRun& run, const ModelInstance& instance) {
  const auto model = std::find_if(run.models.begin(), run.models.end(), [&](const auto& each) {
    return each.instance == instance;
  });
  return model == run.models.end() ? nullptr : &*model;
}

/// Returns whether a bound was complete and now lacks a layer that was tried and failed.
bool is_broken(const ModelBounds& before, const ModelBounds& after, const std::string& mode) {
  const Bound* const was = find_bound(before, results::BoundKind::kLibrary, mode);
  const Bound* const is = find_bound(after, results::BoundKind::kLibrary, mode);
  return was != nullptr && is != nullptr && was->complete && !is->complete &&
         std::any_of(after.unsupported.begin(), after.unsupported.end(), [](const auto& layer) {
           return layer.outcome && *layer.outcome != results::Outcome::Kind::kSkipped;
         });
}

Findings findings_between(const ComparableRun& before, const ComparableRun& after) {
  Findings findings;
  for (const ModelChange& change : compare_models(
           before.models, after.models, joined(before.deviation, after.deviation), {}, {})) {
    const bool latency =
        change.metric.kind == MetricKind::kEndToEnd && change.scenario == kWatchedScenario;
    if (!latency && change.bound != results::BoundKind::kLibrary) {
      continue;
    }
    Finding finding{change.metric.verdict, change.metric.ratio};
    const ModelBounds* const was = model_in(before, change.instance);
    const ModelBounds* const is = model_in(after, change.instance);
    if (!latency && is_broken(*was, *is, change.mode)) {
      finding.verdict = ComparisonVerdict::kBroken;
    }
    findings[{change.instance, latency ? "latency" : "bound_library", change.mode}] = finding;
  }
  return findings;
}

/// Findings between pairs of runs, each computed once.
class PairedFindings {
 public:
  explicit PairedFindings(std::span<const ComparableRun> runs) : runs_(runs) {}

  /// Returns the finding about a metric. Absent: one of the two runs does not have the metric.
  [[nodiscard]] std::optional<Finding> of(const MetricName& name,
                                          std::size_t before,
                                          std::size_t after) {
    const auto [place, added] = pairs_.try_emplace({before, after});
    if (added) {
      place->second = findings_between(runs_[before], runs_[after]);
    }
    const auto finding = place->second.find(name);
    return finding == place->second.end() ? std::nullopt : std::optional(finding->second);
  }

  /// Returns whether all runs before `baseline` in the list, which are newer, are worse than it.
  [[nodiscard]] bool all_bad(const MetricName& name, std::size_t baseline) {
    for (std::size_t run = 0; run < baseline; ++run) {
      const std::optional<Finding> finding = of(name, baseline, run);
      if (!finding || !finding->bad()) {
        return false;
      }
    }
    return true;
  }

 private:
  std::span<const ComparableRun> runs_;
  std::map<std::pair<std::size_t, std::size_t>, Findings> pairs_;
};

RegressionState state_of(const Finding& finding, bool confirmed) {
  switch (finding.verdict) {
    case ComparisonVerdict::kBroken:
      return RegressionState::kBroken;
    case ComparisonVerdict::kRegressed:
      return confirmed ? RegressionState::kRegressed : RegressionState::kSuspected;
    case ComparisonVerdict::kImproved:
      return RegressionState::kImproved;
    case ComparisonVerdict::kEquivalent:
      return RegressionState::kEquivalent;
    case ComparisonVerdict::kInconclusive:
      return RegressionState::kInconclusive;
  }
  return RegressionState::kInconclusive;
}

/// Returns the index of the run to compare with, see find_regressions().
std::size_t baseline_for(const MetricName& name, PairedFindings& findings, std::size_t runs) {
  for (std::size_t run = 2; run < runs; ++run) {
    if (findings.all_bad(name, run)) {
      return run;
    }
  }
  return 1;
}

std::vector<MetricName> list_metrics(const ComparableRun& run) {
  std::vector<MetricName> names;
  for (const ModelBounds& model : run.models) {
    for (const ExecutionTime& execution : model.executions) {
      if (execution.scenario == kWatchedScenario) {
        names.emplace_back(model.instance, "latency", execution.mode);
      }
    }
    for (const Bound& bound : model.bounds) {
      if (bound.kind == results::BoundKind::kLibrary) {
        names.emplace_back(model.instance, "bound_library", bound.mode);
      }
    }
  }
  return names;
}

}  // namespace

std::string_view to_text(RegressionState state) {
  constexpr std::array<std::string_view, kRegressionStates.size()> kTexts{
      "broken", "regressed", "suspected", "improved", "equivalent", "inconclusive", "no_baseline"};
  return kTexts.at(static_cast<std::size_t>(state));
}

std::vector<ModelRegression> find_regressions(std::span<const ComparableRun> newest_first,
                                              const std::optional<ComparableRun>& baseline) {
  std::vector<ModelRegression> regressions;
  if (newest_first.empty()) {
    return regressions;
  }
  std::vector<ComparableRun> runs(newest_first.begin(), newest_first.end());
  if (baseline) {
    runs.push_back(*baseline);
  }
  PairedFindings findings(runs);
  for (const MetricName& name : list_metrics(runs.front())) {
    ModelRegression regression{
        std::get<0>(name), std::get<1>(name), std::get<2>(name), RegressionState::kNoBaseline, {}};
    if (runs.size() > 1) {
      const std::size_t judge =
          baseline ? runs.size() - 1 : baseline_for(name, findings, runs.size());
      if (const std::optional<Finding> newest = findings.of(name, judge, 0)) {
        const std::optional<Finding> before =
            judge > 1 ? findings.of(name, judge, 1) : std::nullopt;
        regression.state = state_of(*newest, before && before->bad());
        regression.ratio = newest->ratio;
      }
    }
    regressions.push_back(std::move(regression));
  }
  return regressions;
}

}  // namespace plumb::analysis
