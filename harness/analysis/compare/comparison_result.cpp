// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/comparison_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"

namespace plumb::analysis {

void choose_what_decides(std::span<MetricComparison* const> metrics) {
  const auto any = [&](const auto& wanted) {
    return std::any_of(
        metrics.begin(), metrics.end(), [&](const auto* metric) { return wanted(*metric); });
  };
  const auto of_kind = [](MetricKind kind) {
    return [kind](const MetricComparison& metric) { return metric.kind == kind; };
  };
  if (any([](const MetricComparison& metric) { return metric.decides; })) {
    return;
  }
  for (const MetricKind kind : {MetricKind::kEndToEnd, MetricKind::kBound, MetricKind::kLayer}) {
    if (any(of_kind(kind))) {
      for (MetricComparison* const metric : metrics) {
        metric->decides = metric->kind == kind;
      }
      return;
    }
  }
}

ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const auto& metric) {
      const bool breaks =
          verdict == ComparisonVerdict::kBroken ||
          (verdict == ComparisonVerdict::kRegressed &&
           (metric.kind == MetricKind::kAccuracy || metric.kind == MetricKind::kLoad));
      return metric.verdict == verdict && (breaks || metric.decides);
    });
  };
  for (const ComparisonVerdict verdict : {ComparisonVerdict::kBroken,
                                          ComparisonVerdict::kRegressed,
                                          ComparisonVerdict::kInconclusive,
                                          ComparisonVerdict::kImproved,
                                          ComparisonVerdict::kEquivalent}) {
    if (any(verdict)) {
      return verdict;
    }
  }
  return ComparisonVerdict::kInconclusive;
}

std::optional<OverallChange> overall_change(std::span<const MetricComparison> metrics,
                                            const ComparisonLimits& limits) {
  OverallChange change;
  std::vector<double> logs;
  double baseline = 0.0;
  double candidate = 0.0;
  for (const MetricComparison& metric : metrics) {
    if (metric.decides && metric.ratio && !metric.in_bytes && metric.baseline > 0.0 &&
        metric.candidate > 0.0) {
      logs.push_back(std::log(metric.candidate / metric.baseline));
      baseline += std::log(metric.baseline);
      candidate += std::log(metric.candidate);
      change.slower += logs.back() > 0.0 ? 1U : 0U;
      change.faster += logs.back() < 0.0 ? 1U : 0U;
    }
  }
  change.metrics = logs.size();
  if (change.metrics < 2) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(change.metrics);
  const double mean = (candidate - baseline) / count;
  double squares = 0.0;
  for (const double log : logs) {
    squares += (log - mean) * (log - mean);
  }
  const double of_metrics = squares / (count - 1.0) / count;
  // Both runs deviate, so the variance between runs counts twice.
  const double of_runs = 2.0 * LearnedNoise::kAssumed * LearnedNoise::kAssumed;
  const double variance = of_metrics + of_runs;
  // What is assumed about runs has many degrees of freedom (Welch and Satterthwaite).
  constexpr double kGiven = 1e6;
  const double freedom =
      variance * variance / (of_metrics * of_metrics / (count - 1.0) + of_runs * of_runs / kGiven);
  MetricComparison& metric = change.metric;
  metric.series = "geometric_mean";
  metric.kind = MetricKind::kOverall;
  metric.baseline = std::exp(baseline / count);
  metric.candidate = std::exp(candidate / count);
  metric.delta = metric.candidate - metric.baseline;
  metric.error = std::sqrt(variance) * metric.baseline;
  metric.p = test_change(
      metric, {.mean = mean, .variance = variance, .kept = 1.0, .freedom = freedom}, limits.alpha);
  metric.floor = {std::max(limits.end_to_end_floor, kEndToEndFloor), FloorSource::kFixed};
  judge_alone(metric, *metric.p, {limits.alpha, metric.floor->relative, limits.run_margin});
  return change;
}

void put_changes_first(std::vector<MetricComparison>& metrics) {
  const auto rank = [](const MetricComparison& metric) {
    return metric.verdict == ComparisonVerdict::kBroken      ? 0
           : metric.verdict == ComparisonVerdict::kRegressed ? 1
           : metric.verdict == ComparisonVerdict::kImproved  ? 2
                                                             : 3;
  };
  std::stable_sort(metrics.begin(), metrics.end(), [&](const auto& one, const auto& other) {
    return rank(one) < rank(other);
  });
}

namespace {

/// Returns the words of a reason that are alike from run to run: those of letters alone.
std::vector<std::string> constant_words(const std::string& reason) {
  std::vector<std::string> words;
  std::istringstream text(reason);
  for (std::string word; text >> word;) {
    while (!word.empty() && std::ispunct(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
    if (!word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isalpha(c) != 0;
        })) {
      words.push_back(word);
    }
  }
  return words;
}

std::string failure_text(const results::Outcome& outcome) {
  return outcome.reason.empty() ? std::string(to_text(outcome.kind))
                                : fmt::format("{}: {}", to_text(outcome.kind), outcome.reason);
}

}  // namespace

bool failed_alike(const results::Outcome& baseline, const results::Outcome& candidate) {
  return baseline.kind == candidate.kind &&
         constant_words(baseline.reason) == constant_words(candidate.reason);
}

void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric) {
  metric.verdict = severity(candidate.kind) > severity(baseline.kind)
                       ? ComparisonVerdict::kBroken
                       : ComparisonVerdict::kInconclusive;
  metric.reason = fmt::format("failed in both runs, but in different ways: {}; now {}",
                              failure_text(baseline),
                              failure_text(candidate));
}

}  // namespace plumb::analysis
