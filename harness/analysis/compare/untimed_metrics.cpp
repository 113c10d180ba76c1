// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr std::int64_t kNotableBytes = std::int64_t{1} << 20;
constexpr std::size_t kNamedLayers = 3;
constexpr double kMaxDisturbed = 0.1;  // of the layers; beyond it, the host shifts all at once

/// Rows of one layer in both runs, each of the library's choice.
struct Pair {
  model::LayerKey key;
  const results::Measurement* before = nullptr;
  const results::Measurement* after = nullptr;
};

const results::Measurement* served_row(const ResultSet& results, const model::LayerKey& key) {
  const auto time = served_time(results, key);
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    if (time && row->row == time->row) {
      return &row->measurement;
    }
  }
  return nullptr;
}

std::vector<Pair> pair_keys(const ResultSet& baseline, const ResultSet& candidate) {
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : baseline.rows()) {
    keys.insert(row.measurement.key);
  }
  std::vector<Pair> pairs;
  for (const model::LayerKey& key : keys) {
    const Pair pair{key, served_row(baseline, key), served_row(candidate, key)};
    if (pair.before != nullptr && pair.after != nullptr) {
      pairs.push_back(pair);
    }
  }
  return pairs;
}

bool is_disturbed(const Pair& pair) {
  return pair.before->disturbance.disturbed || pair.after->disturbance.disturbed;
}

/// Growth of one layer's cost, with its evidence.
struct Growth {
  model::LayerKey key;
  double amount = 0.0;
  std::string evidence;
};

/// Adds the layers with the largest part of a change as its causes.
void add_causes(MetricComparison& metric, std::vector<Growth> growths) {
  if (metric.verdict != ComparisonVerdict::kRegressed &&
      metric.verdict != ComparisonVerdict::kImproved) {
    return;
  }
  const double sign = metric.verdict == ComparisonVerdict::kRegressed ? 1.0 : -1.0;
  double total = 0.0;
  for (const Growth& growth : growths) {
    total += std::max(0.0, sign * growth.amount);
  }
  std::stable_sort(growths.begin(), growths.end(), [&](const Growth& a, const Growth& b) {
    return sign * a.amount > sign * b.amount;
  });
  growths.resize(std::min(growths.size(), kNamedLayers));
  for (const Growth& growth : growths) {
    if (sign * growth.amount > 0.0) {
      metric.causes.push_back({growth.key.text, sign * growth.amount / total, growth.evidence});
    }
  }
}

std::optional<MetricComparison> compare_times(const std::vector<Pair>& pairs,
                                              const std::string& name,
                                              std::optional<Seconds> results::Measurement::*time,
                                              double alpha) {
  std::vector<double> log_ratios;
  std::vector<Growth> growths;
  double log_before = 0.0;
  std::size_t disturbed = 0;
  for (const Pair& pair : pairs) {
    const double before = (pair.before->*time).value_or(Seconds(0.0)).count();
    const double after = (pair.after->*time).value_or(Seconds(0.0)).count();
    if (before <= 0.0 || after <= 0.0) {
      continue;
    }
    if (is_disturbed(pair)) {
      ++disturbed;
      continue;
    }
    log_ratios.push_back(std::log(after / before));
    log_before += std::log(before);
    growths.push_back(
        {pair.key, after - before, fmt::format("{:.4g} → {:.4g} µs", before * 1e6, after * 1e6)});
  }
  if (log_ratios.size() < kMinCostLayers) {
    return std::nullopt;
  }
  MetricComparison metric;
  metric.series = "costs/" + name;
  metric.kind = MetricKind::kCost;
  metric.baseline = std::exp(log_before / static_cast<double>(log_ratios.size()));
  const double p = test_change(metric, stats::trimmed_mean(std::move(log_ratios)), alpha);
  metric.candidate = metric.baseline * *metric.ratio;
  const double all = static_cast<double>(growths.size() + disturbed);
  if (static_cast<double>(disturbed) > kMaxDisturbed * all) {
    metric.reason = fmt::format("the host was disturbed during {} of {} layers", disturbed, all);
  }
  judge_alone(metric, p, {alpha, kCostGrowth, kCostGrowth});
  add_causes(metric, std::move(growths));
  return metric;
}

std::optional<MetricComparison> compare_workspace(const std::vector<Pair>& pairs) {
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::vector<Growth> growths;
  for (const Pair& pair : pairs) {
    const std::int64_t left = pair.before->workspace.value;
    const std::int64_t right = pair.after->workspace.value;
    before += left;
    after += right;
    growths.push_back(
        {pair.key, static_cast<double>(right - left), fmt::format("{} → {} bytes", left, right)});
  }
  if (pairs.size() < kMinCostLayers || (before == 0 && after == 0)) {
    return std::nullopt;
  }
  MetricComparison metric;
  metric.series = "costs/workspace";
  metric.kind = MetricKind::kCost;
  metric.in_bytes = true;
  metric.baseline = static_cast<double>(before);
  metric.candidate = static_cast<double>(after);
  if (before > 0 && after > 0) {
    metric.ratio = metric.low = metric.high = metric.candidate / metric.baseline;
  } else {
    metric.reason = before == 0 ? "none before" : "none now";
  }
  const bool notable = std::abs(after - before) >= kNotableBytes;
  const double limit = 1.0 + kCostGrowth;
  metric.verdict = ComparisonVerdict::kEquivalent;
  if (notable && metric.candidate >= metric.baseline * limit) {
    metric.verdict = ComparisonVerdict::kRegressed;
  } else if (notable && metric.baseline >= metric.candidate * limit) {
    metric.verdict = ComparisonVerdict::kImproved;
  }
  add_causes(metric, std::move(growths));
  return metric;
}

}  // namespace

std::vector<MetricComparison> compare_layer_costs(const ResultSet& baseline,
                                                  const ResultSet& candidate,
                                                  const ComparisonLimits& limits) {
  const std::vector<Pair> pairs = pair_keys(baseline, candidate);
  std::vector<MetricComparison> metrics;
  for (auto metric :
       {compare_times(pairs, "creation", &results::Measurement::creation, limits.alpha),
        compare_times(pairs, "first_call", &results::Measurement::first_call, limits.alpha),
        compare_workspace(pairs)}) {
    if (metric) {
      metrics.push_back(std::move(*metric));
    }
  }
  return metrics;
}

namespace {

/// Hashes, error and correctness of one output in one run.
struct Output {
  std::set<std::string> hashes;  ///< several: its own processes or cache modes differ
  std::optional<double> error;   ///< the largest
  bool wrong = false;
  std::string reason;  ///< why it is wrong
};

void add(Output& output,
         const std::string& hash,
         const std::optional<double>& error,
         const results::Outcome& outcome) {
  output.hashes.insert(hash);
  if (error) {
    output.error = std::max(output.error.value_or(0.0), *error);
  }
  if (outcome.kind == results::Outcome::Kind::kWrongResult) {
    output.wrong = true;
    output.reason = outcome.reason;
  }
}

/// Returns the output of the library's choice. Absent: none was hashed.
std::optional<Output> chosen_output(const ResultSet& results, const model::LayerKey& key) {
  std::optional<Output> output;
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    const results::Measurement& m = row->measurement;
    if (m.library_choice && !m.output_hash.empty()) {
      add(output ? *output : output.emplace(), m.output_hash, m.maximum_error, m.outcome);
    }
  }
  return output;
}

std::optional<Output> model_output(const ExecutionTime& execution) {
  std::optional<Output> output;
  if (!execution.output_hash.empty()) {
    add(output.emplace(), execution.output_hash, execution.maximum_error, execution.outcome);
  }
  return output;
}

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.2e}", *error) : "unknown";
}

/// Judges one output. Absent: neither run hashed it.
std::optional<MetricComparison> judged(const std::optional<Output>& before,
                                       const std::optional<Output>& after,
                                       std::string series,
                                       std::string model) {
  if (!before && !after) {
    return std::nullopt;
  }
  MetricComparison metric;
  metric.kind = MetricKind::kAccuracy;
  metric.series = std::move(series);
  metric.model = std::move(model);
  if (!before || !after) {
    metric.reason =
        fmt::format("the {} has no hash of this output", before ? "candidate" : "baseline");
    return metric;
  }
  metric.output =
      MetricComparison::Output{before->hashes == after->hashes, before->error, after->error};
  const std::string errors =
      fmt::format("maximum error {} → {}", error_text(before->error), error_text(after->error));
  if (before->wrong || after->wrong) {
    metric.verdict = before->wrong && after->wrong ? ComparisonVerdict::kInconclusive
                     : after->wrong                ? ComparisonVerdict::kRegressed
                                                   : ComparisonVerdict::kImproved;
    metric.reason = before->wrong && after->wrong ? "wrong in both runs: " + after->reason
                    : after->wrong                ? "beyond the tolerance now: " + after->reason
                                                  : "within the tolerance again, " + errors;
    return metric;
  }
  if (metric.output->same_bits) {
    metric.verdict = ComparisonVerdict::kEquivalent;
    metric.reason = "the same bit for bit";
    return metric;
  }
  const bool verified = before->error && after->error;
  metric.verdict = verified ? ComparisonVerdict::kEquivalent : ComparisonVerdict::kInconclusive;
  metric.reason = verified ? "other bits within the tolerance, " + errors
                           : "other bits, and no reference to compare them with";
  if (after->hashes.size() > 1 && before->hashes.size() == 1) {
    metric.reason += "; no longer the same in every process of a run";
  }
  return metric;
}

}  // namespace

std::vector<MetricComparison> compare_layer_outputs(const ResultSet& baseline,
                                                    const ResultSet& candidate) {
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : baseline.rows()) {
    keys.insert(row.measurement.key);
  }
  std::vector<MetricComparison> metrics;
  for (const model::LayerKey& key : keys) {
    if (candidate.rows_of(key).empty()) {
      continue;
    }
    if (auto metric = judged(chosen_output(baseline, key),
                             chosen_output(candidate, key),
                             results::accuracy_series(key.text),
                             "")) {
      metrics.push_back(std::move(*metric));
    }
  }
  return metrics;
}

std::vector<MetricComparison> compare_model_outputs(std::span<const ModelBounds> baseline,
                                                    std::span<const ModelBounds> candidate) {
  std::vector<MetricComparison> metrics;
  for (const ModelBounds& before : baseline) {
    for (const ModelBounds& after : candidate) {
      if (before.instance != after.instance) {
        continue;
      }
      const std::string model = subject_of(before.instance);
      for (const ExecutionTime& one : before.executions) {
        for (const ExecutionTime& other : after.executions) {
          if (one.mode != other.mode || one.scenario != other.scenario) {
            continue;
          }
          if (auto metric =
                  judged(model_output(one),
                         model_output(other),
                         results::model_series(
                             model, results::SeriesName::Kind::kAccuracy, one.mode, one.scenario),
                         model)) {
            metrics.push_back(std::move(*metric));
          }
        }
      }
    }
  }
  return metrics;
}

}  // namespace plumb::analysis
