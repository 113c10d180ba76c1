// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/numerical_drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
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
  metric.output = OutputChange{before->hashes == after->hashes, before->error, after->error};
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
                             "accuracy/" + key.text,
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
                             model, results::SeriesKind::kAccuracy, one.mode, one.scenario),
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
