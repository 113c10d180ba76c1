// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/confirmation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kConfirmingLevel = 0.02;  // two-sided: 1 % in the direction of the suspicion
constexpr std::size_t kMaxLayers = 24;
constexpr double kSuspiciousLayer = 1.05;
constexpr double kSuspiciousLevel = 0.05;
constexpr double kGlanceRatio = 1.01;

std::string mode_of(const MetricComparison& metric) {
  return results::parse_series(metric.series).mode;
}

// Two runs differ by some per cent where nothing changed. So a change of 3 % may show as none, and
// only a model that looks faster is believed. A disturbed host leaves a model without a ratio.
// Pairs divide the host out.
bool is_slower_model(const MetricComparison& metric) {
  return (metric.ratio && *metric.ratio >= 1.0) ||
         metric.verdict == ComparisonVerdict::kInconclusive;
}

bool is_slower_layer(const MetricComparison& metric) {
  return metric.ratio && *metric.ratio >= kSuspiciousLayer && metric.p &&
         *metric.p < kSuspiciousLevel;
}

bool is_suspect(const MetricComparison& metric, PairedConfirmation::Suspects::Rule rule) {
  const bool slower =
      metric.kind == MetricKind::kLayer ? is_slower_layer(metric) : is_slower_model(metric);
  return metric.verdict == ComparisonVerdict::kRegressed ||
         (rule == PairedConfirmation::Suspects::Rule::kSlower && slower);
}

/// Withdraws a change that a test of times found and nothing confirmed.
void withdraw(MetricComparison& metric, std::string reason) {
  metric.verdict = ComparisonVerdict::kInconclusive;
  metric.confirmed = false;
  metric.reason = std::move(reason);
}

bool is_unconfirmed_change(const MetricComparison& metric) {
  return metric.verdict == ComparisonVerdict::kRegressed && metric.p.has_value();
}

const RoundComparison::Metric* find_pairs(const MetricComparison& metric,
                                          const PairedConfirmation& pairs) {
  const auto found = std::find_if(
      pairs.metrics.begin(), pairs.metrics.end(), [&](const RoundComparison::Metric& each) {
        return each.mode.empty() ? metric.kind == MetricKind::kLayer &&
                                       metric.series == results::layer_series(each.subject)
                                 : metric.kind == MetricKind::kEndToEnd &&
                                       metric.model == each.subject && mode_of(metric) == each.mode;
      });
  return found == pairs.metrics.end() ? nullptr : &*found;
}

/// Replaces the runs' numbers by those of the pairs.
void take_numbers(const MetricComparison& paired, MetricComparison& metric) {
  metric.baseline = paired.baseline;
  metric.candidate = paired.candidate;
  metric.ratio = paired.ratio;
  metric.low = paired.low;
  metric.high = paired.high;
  metric.q = paired.q;
  metric.mde = paired.mde;
  metric.delta = paired.delta;
  metric.error = paired.error;
  metric.floor = paired.floor;
}

/// Returns candidate ÷ baseline, the geometric mean over the first pairs.
double mean_ratio(const RoundComparison::Metric& pair) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kGlancePairs; ++i) {
    sum += std::log(pair.candidate_seconds[i] / pair.baseline_seconds[i]);
  }
  return std::exp(sum / static_cast<double>(kGlancePairs));
}

void conclude_pair(const RoundComparison::Metric& pair,
                   const PairedConfirmation& pairs,
                   const ComparisonLimits& limits,
                   MetricComparison& metric) {
  const std::string runs =
      metric.ratio ? fmt::format("the runs differ by {:+.1f} %", 100.0 * (*metric.ratio - 1.0))
                   : "the runs show no ratio: " + metric.reason;
  if (pair.decided_at == kGlancePairs) {
    metric.reason =
        fmt::format("{}, {} pairs of processes beside the baseline's stack by {:+.1f} %",
                    runs,
                    kGlancePairs,
                    100.0 * (mean_ratio(pair) - 1.0));
    return;
  }
  const MetricComparison& test = pair.test;
  if (!test.ratio) {
    withdraw(metric, "not confirmed: no pair of processes could measure it on both sides");
    return;
  }
  take_numbers(test, metric);
  metric.confirmed = test.verdict == ComparisonVerdict::kRegressed && !pairs.drifted;
  if (*metric.confirmed) {
    metric.verdict = ComparisonVerdict::kRegressed;
    metric.decides = true;
    return;
  }
  const double margin =
      metric.kind == MetricKind::kLayer ? limits.run_layer_margin : limits.run_margin;
  const bool within = metric.low > 1.0 / (1.0 + margin) && metric.high < 1.0 + margin;
  metric.verdict =
      within && !pairs.drifted ? ComparisonVerdict::kEquivalent : ComparisonVerdict::kInconclusive;
  metric.causes.clear();
  metric.reason =
      fmt::format("{}, {} pairs of processes beside the baseline's stack differ by {:+.1f} %{}",
                  runs,
                  pair.baseline_seconds.size(),
                  100.0 * (*metric.ratio - 1.0),
                  pairs.drifted ? "; the machine drifted between them" : "");
}

bool is_confirmed(const MetricComparison& suspect, const MetricComparison* again) {
  if (again == nullptr || !again->p || !again->ratio || !suspect.ratio) {
    return false;
  }
  const double change = *again->ratio - 1.0;
  const double floor = again->floor ? again->floor->relative : 0.0;
  // In a fixed direction, a two-sided level of 2 % is a one-sided one of 1 %.
  return *again->p < kConfirmingLevel && change >= floor &&
         (change > 0.0) == (*suspect.ratio > 1.0);
}

}  // namespace

double largest_share(const RunComparison::Side& side, const model::LayerKey& key) {
  double largest = 0.0;
  const auto take_in = [&](Seconds of_key, Seconds all) {
    largest = all > Seconds(0.0) ? std::max(largest, of_key / all) : largest;
  };
  for (const auto& [subject, executions] : side.executions) {
    for (const ReplicatedExecution& execution : replicated_executions(executions)) {
      Seconds all{};
      Seconds of_key{};
      for (const results::Execution::Layer& layer : execution.told->layers) {
        all += layer.seconds + layer.reorder;
        of_key += layer.key == key ? layer.seconds + layer.reorder : Seconds(0.0);
      }
      take_in(of_key, all);
    }
  }
  for (const ModelBounds& model : side.models) {
    Seconds all{};
    Seconds of_key{};
    for (const PartitionStep& step : model.cover) {
      const Seconds time = step.time ? step.time->time.median : Seconds(0.0);
      all += time;
      of_key += step.key == key ? time : Seconds(0.0);
    }
    take_in(of_key, all);
  }
  return largest;
}

std::set<std::string> PairedConfirmation::Suspects::subjects() const {
  std::set<std::string> result;
  for (const auto& [subject, mode] : models) {
    result.insert(subject);
  }
  return result;
}

PairedConfirmation::Suspects find_suspects(const RunComparison& comparison,
                                           const RunComparison::Side& candidate,
                                           PairedConfirmation::Suspects::Rule rule) {
  PairedConfirmation::Suspects suspects;
  std::vector<const MetricComparison*> layers;
  for (const MetricComparison& metric : comparison.metrics) {
    if (metric.verdict == ComparisonVerdict::kBroken || !is_suspect(metric, rule)) {
      continue;
    }
    if (metric.kind == MetricKind::kLayer) {
      const model::LayerKey key{results::parse_series(metric.series).subject};
      if (metric.decides || largest_share(candidate, key) >= kMinDecidingShare) {
        layers.push_back(&metric);
      }
    } else if (metric.kind == MetricKind::kEndToEnd && metric.decides) {
      suspects.series.insert(metric.series);
      suspects.models.emplace(metric.model, mode_of(metric));
      if (metric.verdict == ComparisonVerdict::kEquivalent) {
        suspects.equal.emplace(metric.model, mode_of(metric));
      }
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* one, const auto* other) {
    return one->delta > other->delta;
  });
  layers.resize(std::min(layers.size(), kMaxLayers));
  for (const MetricComparison* const metric : layers) {
    suspects.series.insert(metric->series);
    suspects.layers.insert(model::LayerKey{results::parse_series(metric->series).subject});
  }
  return suspects;
}

std::set<results::ModelMode> cleared_at_glance(const PairedConfirmation::Suspects& suspects,
                                               const RoundComparison& rounds) {
  std::set<results::ModelMode> cleared;
  for (const RoundComparison::Metric& metric : rounds.models) {
    results::ModelMode mode{metric.subject, metric.mode};
    if (metric.baseline_seconds.size() >= kGlancePairs && suspects.equal.contains(mode) &&
        metric.test.verdict != ComparisonVerdict::kBroken && mean_ratio(metric) < kGlanceRatio) {
      cleared.insert(std::move(mode));
    }
  }
  return cleared;
}

void conclude_pairs(const PairedConfirmation::Suspects& suspects,
                    const PairedConfirmation& pairs,
                    const ComparisonLimits& limits,
                    RunComparison& comparison) {
  for (MetricComparison& metric : comparison.metrics) {
    const bool suspect = suspects.series.contains(metric.series);
    if (const RoundComparison::Metric* const pair = suspect ? find_pairs(metric, pairs) : nullptr) {
      conclude_pair(*pair, pairs, limits, metric);
    } else if (is_unconfirmed_change(metric)) {
      withdraw(metric, "not confirmed: it was not measured again");
    }
  }
  put_changes_first(comparison.metrics);
  comparison.verdict = verdict_of_all(comparison.metrics);
}

void conclude_confirmation(const PairedConfirmation::Suspects& suspects,
                           const RunComparison& again,
                           RunComparison& comparison) {
  for (MetricComparison& metric : comparison.metrics) {
    const bool changed = metric.verdict == ComparisonVerdict::kRegressed;
    const bool suspect = changed && suspects.series.contains(metric.series);
    if (!suspect) {
      if (is_unconfirmed_change(metric)) {
        withdraw(metric, "not confirmed: it was not measured again");
        metric.decides = false;
      }
      continue;
    }
    const auto found =
        std::find_if(again.metrics.begin(), again.metrics.end(), [&](const auto& other) {
          return other.series == metric.series;
        });
    const MetricComparison* const fresh = found == again.metrics.end() ? nullptr : &*found;
    metric.confirmed = is_confirmed(metric, fresh);
    if (*metric.confirmed) {
      std::vector<MetricComparison::Cause> causes = std::move(metric.causes);
      metric = *fresh;
      metric.causes = std::move(causes);
      metric.confirmed = true;
      metric.decides = true;
      metric.verdict = ComparisonVerdict::kRegressed;
    } else {
      metric.verdict = ComparisonVerdict::kInconclusive;
      metric.decides = false;
      metric.reason = fresh != nullptr && fresh->ratio
                          ? fmt::format(
                                "not confirmed: in fresh processes it took {:.6g} s, "
                                "{:+.1f} % of the baseline",
                                fresh->candidate,
                                100.0 * (*fresh->ratio - 1.0))
                          : "not confirmed: it was not measured again";
    }
  }
  put_changes_first(comparison.metrics);
  comparison.verdict = verdict_of_all(comparison.metrics);
}

}  // namespace plumb::analysis
