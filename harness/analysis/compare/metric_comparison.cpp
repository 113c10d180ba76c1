// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/metric_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/stats/segmentation.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {
namespace {

constexpr std::size_t kMinRunProcesses = 3;
constexpr std::size_t kMaxLag = 5;        // runs apart
constexpr std::size_t kTrustedRuns = 10;  // from which less noise than assumed is believed
constexpr double kAssumedOfModels = 0.015;
constexpr double kGiven = 1e6;  // degrees of freedom of what is assumed, not estimated
constexpr std::size_t kMinTailSteps = 5;
constexpr double kTail = 0.8;
constexpr double kNormalAtTail = 1.2815516;     // quantile of |x| of a normal variable there
constexpr double kMedianChiSquare = 0.4549364;  // median of chi-square with one degree of freedom
constexpr double kMedianEfficiency = 0.37;      // of that median, against the mean square
constexpr double kVarianceOfMedian = 1.5708;    // of n normal values, times n: pi/2

/// Returns the kind of a series, whose noise is like that of others. Executions among other shapes
/// are of another kind than those of a shape alone: first ones are cold, and single in a process.
std::string kind_of(const std::string& series) {
  const results::SeriesName name = results::parse_series(series);
  return name.kind == results::SeriesName::Kind::kAlternation ? name.scenario
                                                              : series.substr(0, series.find('/'));
}

/// Median of one run's processes, and its variance by their scatter.
struct RunCentre {
  double centre = 0.0;
  double variance = 0.0;
};

RunCentre compute_centre(const std::vector<double>& logs) {
  RunCentre result{stats::compute_median(logs), 0.0};
  const auto n = static_cast<double>(logs.size());
  for (const double log : logs) {
    result.variance += (log - result.centre) * (log - result.centre) / (n - 1.0) / n;
  }
  result.variance *= kVarianceOfMedian;
  return result;
}

/// Returns the variance of a run by the 80th percentile of its differences from the run before.
///
/// The median square does not see runs that a neighbour slowed down while they are fewer than half.
/// They make the tail that comparisons meet. One step makes one difference among many.
double tail_variance(std::span<const RunCentre> of_series) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < of_series.size(); ++i) {
    steps.push_back(std::abs(of_series[i].centre - of_series[i - 1].centre));
  }
  if (steps.size() < kMinTailSteps) {
    return 0.0;
  }
  std::sort(steps.begin(), steps.end());
  const auto place = static_cast<std::size_t>(std::ceil(kTail * static_cast<double>(steps.size())));
  const double deviation = steps[place - 1] / kNormalAtTail;
  return deviation * deviation / 2.0;
}

}  // namespace

LearnedNoise::LearnedNoise(std::span<const LearnedNoise::RunTimes> runs) : runs_(runs.size()) {
  std::map<std::string, std::vector<RunCentre>> centres;
  for (const LearnedNoise::RunTimes& run : runs) {
    for (const auto& [id, logs] : run.logs) {
      if (logs.size() >= kMinRunProcesses) {
        centres[id].push_back(compute_centre(logs));
        processes_[id].push_back(logs);
      }
    }
  }
  std::map<std::string, std::vector<double>> of_kinds;
  for (const auto& [id, of_series] : centres) {
    std::vector<double> squares;
    double scatter = 0.0;
    // A machine wanders, so runs further apart differ by more. There may be a step between them,
    // though, and among few runs only neighbours outvote it.
    const std::size_t max_lag = runs.size() >= kTrustedRuns ? kMaxLag : 1;
    for (std::size_t i = 0; i < of_series.size(); ++i) {
      for (std::size_t k = i + 1; k < of_series.size() && k - i <= max_lag; ++k) {
        const double difference = of_series[k].centre - of_series[i].centre;
        squares.push_back(difference * difference);
        scatter += of_series[i].variance + of_series[k].variance;
      }
    }
    if (squares.empty()) {
      continue;
    }
    const auto n = static_cast<double>(squares.size());
    std::vector<double>& of_kind = of_kinds[kind_of(id)];
    for (const double square : squares) {
      of_kind.push_back((square / kMedianChiSquare - scatter / n) / 2.0);
    }
    const double variance = (stats::compute_median(squares) / kMedianChiSquare - scatter / n) / 2.0;
    series_[id] = {std::max(variance, tail_variance(of_series)),
                   kMedianEfficiency * static_cast<double>(of_series.size() - 1)};
  }
  for (const auto& [kind, variances] : of_kinds) {
    const auto differences = static_cast<double>(runs_ > 0 ? runs_ - 1 : 0);
    kinds_[kind] = {std::max(stats::compute_median(variances), 0.0),
                    kMedianEfficiency * differences};
  }
}

std::span<const std::vector<double>> LearnedNoise::processes(const std::string& series) const {
  const auto found = processes_.find(series);
  return found == processes_.end() ? std::span<const std::vector<double>>() : found->second;
}

LearnedNoise::Deviation LearnedNoise::of(const std::string& series) const {
  // Series of one kind share what the machine does in a run. Many of them are worth little more
  // than their runs.
  const double assumed = results::is_model_series(series) ? kAssumedOfModels : kAssumed;
  Estimate result{assumed * assumed, kPriorFreedom};
  const auto take_in = [&](const std::map<std::string, Estimate>& from, const std::string& name) {
    const auto found = from.find(name);
    if (found == from.end() || found->second.freedom <= 0.0) {
      return;
    }
    const double prior = std::min(result.freedom, kPriorFreedom);
    const double sum = prior + found->second.freedom;
    result.variance =
        (prior * result.variance + found->second.freedom * found->second.variance) / sum;
    result.freedom = sum;
  };
  take_in(kinds_, kind_of(series));
  take_in(series_, series);
  if (runs_ < kTrustedRuns && result.variance <= assumed * assumed) {
    result = {assumed * assumed, kPriorFreedom};
  }
  const bool known = result.freedom > kPriorFreedom;
  return {std::sqrt(result.variance), known ? result.freedom : kGiven, known && runs_ >= kMinRuns};
}

namespace {

constexpr double kDeviations = 3.0;

}  // namespace

std::string_view to_text(MetricComparison::Floor::Source source) {
  switch (source) {
    case MetricComparison::Floor::Source::kFixed:
      return "fixed";
    case MetricComparison::Floor::Source::kCalibrated:
      return "calibrated";
    case MetricComparison::Floor::Source::kLearned:
      return "learned";
    case MetricComparison::Floor::Source::kAssumed:
      return "assumed";
  }
  return "assumed";
}

void CalibratedFloors::join(const CalibratedFloors& other) {
  for (const auto& [name, noise] : other.series) {
    CalibratedFloors::Noise& mine = series[name];
    mine.process = std::max(mine.process, noise.process);
    mine.floor = std::max(mine.floor, noise.floor);
  }
  std::set<std::string> all(runs.begin(), runs.end());
  all.insert(other.runs.begin(), other.runs.end());
  runs.assign(all.begin(), all.end());
}

MetricComparison::Floor run_floor(const CalibratedFloors& floors,
                                  const std::string& series,
                                  double least) {
  constexpr double kRunDeviations = 2.0;
  const LearnedNoise::Deviation run = floors.learned.of(series);
  const double of_runs = kRunDeviations * std::sqrt(2.0) * run.relative;
  const auto calibrated = floors.series.find(series);
  if (calibrated == floors.series.end()) {
    return {std::max(least, of_runs),
            run.learned ? MetricComparison::Floor::Source::kLearned
                        : MetricComparison::Floor::Source::kAssumed};
  }
  // A calibration replaces what is assumed about runs, but not what was learned.
  MetricComparison::Floor floor{std::max(least, calibrated->second.floor),
                                MetricComparison::Floor::Source::kCalibrated};
  if (run.learned && of_runs > floor.relative) {
    floor = {of_runs, MetricComparison::Floor::Source::kLearned};
  }
  return floor;
}

MetricComparison::Floor layer_floor(const CalibratedFloors& floors,
                                    const std::string& series,
                                    double least,
                                    double assumed) {
  const auto calibrated = floors.series.find(series);
  return calibrated != floors.series.end()
             ? MetricComparison::Floor{std::max({least, kMinLayerFloor, calibrated->second.floor}),
                                       MetricComparison::Floor::Source::kCalibrated}
             : MetricComparison::Floor{std::max({least, kMinLayerFloor, kDeviations * assumed}),
                                       MetricComparison::Floor::Source::kAssumed};
}

namespace {

constexpr double kPower = 0.8;  // at which the minimal detectable effect is found

ComparisonVerdict judge_change(const MetricComparison& metric,
                               const ComparisonLimits::Change& limits) {
  const double change = *metric.ratio - 1.0;
  if (*metric.q < limits.level && std::abs(change) >= limits.floor && change != 0.0) {
    return change > 0.0 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved;
  }
  const double within = std::max(limits.margin, limits.floor);
  return metric.low > 1.0 - within && metric.high < 1.0 + within ? ComparisonVerdict::kEquivalent
                                                                 : ComparisonVerdict::kInconclusive;
}

}  // namespace

std::string_view to_text(ComparisonVerdict verdict) {
  switch (verdict) {
    case ComparisonVerdict::kBroken:
      return "broken";
    case ComparisonVerdict::kRegressed:
      return "regressed";
    case ComparisonVerdict::kImproved:
      return "improved";
    case ComparisonVerdict::kEquivalent:
      return "equivalent";
    case ComparisonVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

std::string_view to_text(MetricKind kind) {
  switch (kind) {
    case MetricKind::kEndToEnd:
      return "end_to_end";
    case MetricKind::kLayer:
      return "layer";
    case MetricKind::kCapability:
      return "capability";
    case MetricKind::kBound:
      return "bound";
    case MetricKind::kLoad:
      return "load";
    case MetricKind::kAlternation:
      return "alternation";
    case MetricKind::kCost:
      return "cost";
    case MetricKind::kAccuracy:
      return "accuracy";
    case MetricKind::kControl:
      return "control";
    case MetricKind::kReplay:
      return "replay";
    case MetricKind::kOverall:
      break;
  }
  return "overall";
}

ComparisonLimits::Change ComparisonLimits::of_model() const {
  return {alpha, end_to_end_floor, end_to_end_margin};
}

ComparisonLimits::Change ComparisonLimits::of_layer() const {
  return {false_discovery_rate, layer_floor, layer_margin};
}

double test_change(MetricComparison& metric, const stats::TrimmedMean& log_ratio, double alpha) {
  const double error = std::sqrt(log_ratio.variance / log_ratio.kept);
  const double reach = stats::t_quantile(0.975, log_ratio.freedom) * error;
  metric.ratio = std::exp(log_ratio.mean);
  metric.low = std::exp(log_ratio.mean - reach);
  metric.high = std::exp(log_ratio.mean + reach);
  metric.mde = std::expm1((stats::t_quantile(1.0 - alpha / 2.0, log_ratio.freedom) +
                           stats::t_quantile(kPower, log_ratio.freedom)) *
                          error);
  if (error <= 0.0) {
    return log_ratio.mean == 0.0 ? 1.0 : 0.0;
  }
  return stats::two_sided_p(log_ratio.mean / error, log_ratio.freedom);
}

void judge_family(std::span<const MetricComparison::FamilyMember> family) {
  std::vector<double> weighted;
  for (const MetricComparison::FamilyMember& member : family) {
    weighted.push_back(std::min(member.p, 1.0));
  }
  const std::vector<double> q = stats::false_discovery_q(weighted);
  for (std::size_t i = 0; i < family.size(); ++i) {
    MetricComparison& metric = *family[i].metric;
    metric.q = q[i];
    if (metric.reason.empty()) {
      metric.verdict = judge_change(metric, family[i].limits);
    }
  }
}

void judge_alone(MetricComparison& metric, double p, const ComparisonLimits::Change& limits) {
  const MetricComparison::FamilyMember alone{&metric, p, limits};
  judge_family({&alone, 1});
}

std::string layer_key_of(const MetricComparison& metric) {
  const bool of_layer = is_detail(metric) && metric.model.empty();
  return of_layer ? metric.series.substr(metric.series.find('/') + 1) : std::string();
}

bool is_detail(const MetricComparison& metric) {
  return metric.kind == MetricKind::kLayer || metric.kind == MetricKind::kCapability ||
         metric.kind == MetricKind::kAccuracy;
}

namespace {

std::string find_fault(const PairedSamples& samples) {
  if (samples.baseline.size() != samples.candidate.size()) {
    return fmt::format(
        "{} rounds of the baseline and {} of the candidate do not form pairs: give both the same "
        "number",
        samples.baseline.size(),
        samples.candidate.size());
  }
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    for (const double time : {samples.baseline[i], samples.candidate[i]}) {
      if (!std::isfinite(time) || time <= 0.0) {
        return fmt::format("round {} has the time {} s, which is not a positive number", i, time);
      }
    }
  }
  if (samples.baseline.size() < kMinPairs) {
    return fmt::format("{} pairs, but at least {} are needed to show a change",
                       samples.baseline.size(),
                       kMinPairs);
  }
  return {};
}

}  // namespace

double compute_median(std::vector<double> values) {
  PLUMB_CHECK(!values.empty());
  return stats::compute_median(values);
}

PairedSamples::Metric paired_metric(const PairedSamples& samples,
                                    std::string series,
                                    MetricKind kind) {
  PairedSamples::Metric metric;
  metric.result.series = std::move(series);
  metric.result.kind = kind;
  metric.result.reason = find_fault(samples);
  if (!metric.result.reason.empty()) {
    return metric;
  }
  std::vector<double> logs;
  std::vector<double> differences;
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    logs.push_back(std::log(samples.candidate[i] / samples.baseline[i]));
    differences.push_back(samples.candidate[i] - samples.baseline[i]);
  }
  metric.result.baseline = compute_median(samples.baseline);
  metric.result.candidate = compute_median(samples.candidate);
  metric.log_ratio = stats::trimmed_mean(std::move(logs));
  const stats::TrimmedMean difference = stats::trimmed_mean(std::move(differences));
  metric.result.delta = difference.mean;
  metric.result.error = std::sqrt(difference.variance / difference.kept);
  return metric;
}

}  // namespace plumb::analysis
