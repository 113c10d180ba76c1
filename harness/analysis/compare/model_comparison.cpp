// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/model_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "harness/results/execution.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

MetricComparison::Floor end_to_end_floor(const ComparisonLimits& limits) {
  return {std::max(limits.end_to_end_floor, kEndToEndFloor),
          MetricComparison::Floor::Source::kFixed};
}

/// Concludes by the end-to-end limits, which bounds share.
void conclude(MetricComparison& metric,
              const ComparisonLimits& limits,
              const MetricComparison::Floor& floor) {
  metric.floor = floor;
  judge_alone(metric,
              *metric.p,
              {limits.alpha,
               floor.relative,
               metric.by_processes ? limits.run_margin : limits.end_to_end_margin});
}

MetricComparison compare_bound(const Bound& before,
                               const Bound& after,
                               const ProcessDeviation& deviation,
                               const ComparisonLimits& limits) {
  MetricComparison metric;
  metric.kind = MetricKind::kBound;
  if (!before.complete || !after.complete || before.seconds <= Seconds(0.0) ||
      after.seconds <= Seconds(0.0)) {
    metric.reason =
        fmt::format("incomplete in the {}", !before.complete ? "baseline" : "candidate");
    return metric;
  }
  metric.p = test_times(metric,
                        {before.seconds, before.interval},
                        {after.seconds, after.interval},
                        deviation,
                        limits.alpha);
  conclude(metric, limits, end_to_end_floor(limits));
  return metric;
}

bool has_processes(const ExecutionTime& before, const ExecutionTime& after) {
  return std::min(before.process_logs.size(), after.process_logs.size()) >= kMinProcesses;
}

/// Begins the comparison of an execution. Among other shapes it decides nothing.
MetricComparison metric_of(const ExecutionTime& execution) {
  MetricComparison metric;
  metric.kind = execution.turn ? MetricKind::kAlternation : MetricKind::kEndToEnd;
  metric.decides = !execution.turn && !results::execution_mode_from(execution.mode).best_variant;
  return metric;
}

MetricComparison compare_execution(const ExecutionTime& before,
                                   const ExecutionTime& after,
                                   const ProcessDeviation& deviation,
                                   const ProcessDeviation::KnownNoise& known,
                                   const ComparisonLimits& limits,
                                   const MetricComparison::Floor& floor) {
  MetricComparison metric = metric_of(before);
  if (before.samples > 0 && after.samples == 0 &&
      after.outcome.kind != results::Outcome::Kind::kSkipped) {
    metric.verdict = ComparisonVerdict::kBroken;
    metric.reason = fmt::format(
        "worked before, and now {}: {}", to_text(after.outcome.kind), after.outcome.reason);
    return metric;
  }
  if (before.median <= Seconds(0.0) || after.median <= Seconds(0.0)) {
    metric.reason = fmt::format("not timed in the {}",
                                before.median <= Seconds(0.0) ? "baseline" : "candidate");
    return metric;
  }
  if (has_processes(before, after)) {
    metric.p = test_processes(metric, before.process_logs, after.process_logs, limits.alpha, known);
  } else if (before.turn == results::SeriesName::Turn::kFirst) {
    metric.reason = fmt::format("a process has one such time: compare runs of {} processes or more",
                                kMinProcesses);
    return metric;
  } else if (before.disturbed || after.disturbed) {
    metric.reason = fmt::format("the host was disturbed in every process of the {}",
                                before.disturbed ? "baseline" : "candidate");
    return metric;
  } else {
    metric.p = test_times(metric,
                          {before.median, before.interval},
                          {after.median, after.interval},
                          deviation,
                          limits.alpha);
  }
  conclude(metric, limits, floor);
  return metric;
}

/// Returns the metric of an execution that the candidate lacks.
MetricComparison missing(const ExecutionTime& execution) {
  MetricComparison metric = metric_of(execution);
  metric.reason = "the candidate did not execute it";
  return metric;
}

void compare_bounds(const ModelBounds& before,
                    const ModelBounds& after,
                    const ProcessDeviation& deviation,
                    const ComparisonLimits& limits,
                    std::vector<ModelRegression::Change>& changes) {
  for (const Bound& bound : before.bounds) {
    const Bound* const other = find_bound(after, bound.kind, bound.mode);
    if (other == nullptr || bound.kind == results::BoundKind::kHardware) {
      continue;
    }
    changes.push_back({before.instance,
                       bound.kind,
                       bound.mode,
                       {},
                       compare_bound(bound, *other, deviation, limits)});
    changes.back().metric.series =
        results::bound_series(subject_of(before.instance), bound.kind, bound.mode);
  }
}

void compare_executions(const ModelInstance& instance,
                        std::span<const ExecutionTime> before,
                        std::span<const ExecutionTime> after,
                        const ProcessDeviation& deviation,
                        const stats::TrimmedMean::Prior& prior,
                        const CalibratedFloors& floors,
                        const ComparisonLimits& limits,
                        std::vector<ModelRegression::Change>& changes) {
  for (const ExecutionTime& execution : before) {
    const auto other = std::find_if(after.begin(), after.end(), [&](const ExecutionTime& each) {
      return each.mode == execution.mode && each.scenario == execution.scenario &&
             each.turn == execution.turn;
    });
    const std::string series =
        end_to_end_series(subject_of(instance), execution.mode, execution.scenario, execution.turn);
    if (other == after.end()) {
      if (execution.samples > 0) {
        changes.push_back(
            {instance, std::nullopt, execution.mode, execution.scenario, missing(execution)});
        changes.back().metric.series = series;
      }
      continue;
    }
    ProcessDeviation own = deviation;
    // The deviation between processes comes from layers and says little about a model. A model
    // without a calibration therefore gets the floor of an uncalibrated layer.
    MetricComparison::Floor floor =
        has_processes(execution, *other)
            ? run_floor(floors, series, std::max(limits.end_to_end_floor, kEndToEndFloor))
            : layer_floor({}, series, limits.end_to_end_floor, deviation.relative);
    if (const auto noise = floors.series.find(series); noise != floors.series.end()) {
      own.relative = std::max(own.relative, noise->second.process);
      floor = has_processes(execution, *other) ? floor : end_to_end_floor(limits);
    }
    changes.push_back(
        {instance,
         std::nullopt,
         execution.mode,
         execution.scenario,
         compare_execution(execution,
                           *other,
                           own,
                           {prior, floors.learned.of(series), floors.learned.processes(series)},
                           limits,
                           floor)});
    changes.back().metric.series = series;
  }
}

/// Returns a prior for the variance between processes, fitted to all models.
stats::TrimmedMean::Prior fit_prior(std::span<const ModelBounds> baseline,
                                    std::span<const ModelBounds> candidate) {
  std::vector<stats::TrimmedMean> samples;
  for (const auto& side : {baseline, candidate}) {
    for (const ModelBounds& model : side) {
      for (const ExecutionTime& execution : model.executions) {
        if (execution.process_logs.size() >= kMinProcesses) {
          samples.push_back(stats::trimmed_mean(execution.process_logs));
        }
      }
    }
  }
  return stats::variance_prior(samples);
}

/// Returns the figure of a scenario before and after, as text.
std::string score_change(const results::ScenarioResult& before,
                         const results::ScenarioResult& after) {
  const std::optional<results::ScenarioResult::Score> old_score = results::compute_score(before);
  const std::optional<results::ScenarioResult::Score> new_score = results::compute_score(after);
  if (!old_score || !new_score || !old_score->value || !new_score->value) {
    return "at least one run has no score";
  }
  return fmt::format("{} {:.6g} → {:.6g} {}",
                     old_score->name,
                     *old_score->value,
                     *new_score->value,
                     new_score->unit);
}

MetricComparison compare_load(const results::ScenarioResult& before,
                              const results::ScenarioResult& after) {
  MetricComparison metric;
  metric.kind = MetricKind::kLoad;
  const results::ScenarioResult::Verdict was = judge_load(before);
  const results::ScenarioResult::Verdict is = judge_load(after);
  const std::string figures = score_change(before, after);
  const std::vector<std::string> reasons = results::list_reasons(after);
  const std::string why = reasons.empty() ? figures : reasons.front() + "; " + figures;
  if (was != results::ScenarioResult::Verdict::kNotExecuted &&
      is == results::ScenarioResult::Verdict::kNotExecuted &&
      after.outcome.kind != results::Outcome::Kind::kSkipped) {
    metric.verdict = ComparisonVerdict::kBroken;
    metric.reason = fmt::format("worked before, and now {}: {}", to_text(after.outcome.kind), why);
  } else if (was == results::ScenarioResult::Verdict::kValid &&
             is == results::ScenarioResult::Verdict::kFailed) {
    metric.verdict = ComparisonVerdict::kRegressed;
    metric.reason = "valid before, and not valid now: " + why;
  } else if (was == results::ScenarioResult::Verdict::kFailed &&
             is == results::ScenarioResult::Verdict::kValid) {
    metric.verdict = ComparisonVerdict::kImproved;
    metric.reason = "valid now: " + figures;
  } else {
    metric.reason =
        fmt::format("{} before and {} now, one load each: {}", to_text(was), to_text(is), figures);
  }
  return metric;
}

void compare_loads(const ModelBounds& before,
                   const ModelBounds& after,
                   std::vector<ModelRegression::Change>& changes) {
  for (const results::ScenarioResult& load : before.loads) {
    const auto other = std::find_if(
        after.loads.begin(), after.loads.end(), [&](const results::ScenarioResult& each) {
          return each.mode == load.mode && each.scenario == load.scenario;
        });
    if (other != after.loads.end()) {
      changes.push_back(
          {before.instance, std::nullopt, load.mode, load.scenario, compare_load(load, *other)});
      changes.back().metric.series = results::model_series(
          subject_of(before.instance), results::SeriesName::Kind::kLoad, load.mode, load.scenario);
    }
  }
}

}  // namespace

std::string end_to_end_series(const std::string& subject,
                              const std::string& mode,
                              loadgen::ScenarioName scenario,
                              std::optional<results::SeriesName::Turn> turn) {
  if (turn) {
    return results::alternation_series(subject, mode, *turn);
  }
  return results::model_series(subject, results::SeriesName::Kind::kEndToEnd, mode, scenario);
}

std::vector<ModelRegression::Change> compare_models(std::span<const ModelBounds> baseline,
                                                    std::span<const ModelBounds> candidate,
                                                    const ProcessDeviation& deviation,
                                                    const CalibratedFloors& floors,
                                                    const ComparisonLimits& limits) {
  std::vector<ModelRegression::Change> changes;
  const stats::TrimmedMean::Prior prior = fit_prior(baseline, candidate);
  for (const ModelBounds& before : baseline) {
    for (const ModelBounds& after : candidate) {
      if (before.instance == after.instance) {
        const std::size_t first = changes.size();
        for (const auto list : {&ModelBounds::executions, &ModelBounds::alternations}) {
          compare_executions(before.instance,
                             before.*list,
                             after.*list,
                             deviation,
                             prior,
                             floors,
                             limits,
                             changes);
        }
        compare_bounds(before, after, deviation, limits, changes);
        compare_loads(before, after, changes);
        for (std::size_t i = first; i < changes.size(); ++i) {
          changes[i].metric.model = subject_of(before.instance);
        }
      }
    }
  }
  return changes;
}

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

const ModelBounds* model_in(const ModelRegression::Run& run, const ModelInstance& instance) {
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

Findings findings_between(const ModelRegression::Run& before, const ModelRegression::Run& after) {
  Findings findings;
  for (const ModelRegression::Change& change : compare_models(
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
  explicit PairedFindings(std::span<const ModelRegression::Run> runs) : runs_(runs) {}

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
  std::span<const ModelRegression::Run> runs_;
  std::map<std::pair<std::size_t, std::size_t>, Findings> pairs_;
};

ModelRegression::State state_of(const Finding& finding, bool confirmed) {
  switch (finding.verdict) {
    case ComparisonVerdict::kBroken:
      return ModelRegression::State::kBroken;
    case ComparisonVerdict::kRegressed:
      return confirmed ? ModelRegression::State::kRegressed : ModelRegression::State::kSuspected;
    case ComparisonVerdict::kImproved:
      return ModelRegression::State::kImproved;
    case ComparisonVerdict::kEquivalent:
      return ModelRegression::State::kEquivalent;
    case ComparisonVerdict::kInconclusive:
      return ModelRegression::State::kInconclusive;
  }
  return ModelRegression::State::kInconclusive;
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

std::vector<MetricName> list_metrics(const ModelRegression::Run& run) {
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

std::string_view to_text(ModelRegression::State state) {
  constexpr std::array<std::string_view, kRegressionStates.size()> kTexts{
      "broken", "regressed", "suspected", "improved", "equivalent", "inconclusive", "no_baseline"};
  return kTexts.at(static_cast<std::size_t>(state));
}

std::vector<ModelRegression> find_regressions(std::span<const ModelRegression::Run> newest_first,
                                              const std::optional<ModelRegression::Run>& baseline) {
  std::vector<ModelRegression> regressions;
  if (newest_first.empty()) {
    return regressions;
  }
  std::vector<ModelRegression::Run> runs(newest_first.begin(), newest_first.end());
  if (baseline) {
    runs.push_back(*baseline);
  }
  PairedFindings findings(runs);
  for (const MetricName& name : list_metrics(runs.front())) {
    ModelRegression regression{std::get<0>(name),
                               std::get<1>(name),
                               std::get<2>(name),
                               ModelRegression::State::kNoBaseline,
                               {}};
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
