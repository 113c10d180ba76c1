// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/run_metrics.hpp"

#include <algorithm>
#include <utility>

#include "harness/results/labels/run_labels.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::reporting {
namespace {

RunMetrics::ModelTimes collect_times(const analysis::RunReport::Model& model,
                                     const analysis::ResultSet& results,
                                     std::size_t slowest) {
  std::map<std::string, Seconds> plain;
  std::map<std::string, Seconds> fused;
  RunMetrics::ModelTimes times;
  for (const model::Layer& layer : model.graph.layers) {
    if (layer.role != model::Layer::Role::kCompute) {
      continue;
    }
    if (const auto time = results.best(layer.key, results::CacheMode::kNone)) {
      plain[layer.onnx_op] += time->time.median;
      times.slowest.push_back({layer.name, layer.onnx_op, time->variant, time->time.median});
    }
  }
  for (const analysis::PartitionStep& step : model.bounds.cover) {
    if (step.time && !step.layers.empty()) {
      fused[model.graph.layers[step.layers.front()].onnx_op] += step.time->time.median;
    }
  }
  for (const auto& [mode, sums] : {std::pair("plain", &plain), std::pair("fusion", &fused)}) {
    for (const auto& [name, seconds] : *sums) {
      times.operators.push_back({mode, name, seconds});
    }
  }
  std::stable_sort(times.slowest.begin(),
                   times.slowest.end(),
                   [](const auto& one, const auto& other) { return one.seconds > other.seconds; });
  times.slowest.resize(std::min(slowest, times.slowest.size()));
  return times;
}

/// Collects the times of imported benchmarks, in order of name.
void add_benchmarks(const analysis::ResultSet& results, RunMetrics& metrics) {
  std::map<std::string, const results::Measurement*> benchmarks;
  for (const results::StoredMeasurement& row : results.rows()) {
    if (auto name = results::external_name(row.measurement)) {
      benchmarks.emplace(*std::move(name), &row.measurement);
    }
  }
  for (const auto& [name, row] : benchmarks) {
    const auto time = row->key.text.starts_with(results::kExternalKey)
                          ? results.best(row->key, results::CacheMode::kNone)
                          : results.of_variant(row->key, row->variant, results::CacheMode::kNone);
    ++(time ? metrics.benchmarks_timed : metrics.benchmarks_failed);
    if (time && metrics.benchmarks.size() < kMaxBenchmarkTimes) {
      metrics.benchmarks.push_back({name, time->time});
    }
  }
}

void slim(analysis::ModelBounds& model) {
  model.cover.clear();
  model.critical_steps.clear();
  model.critical_path.clear();
  model.findings.clear();
  model.disturbances.clear();
  for (analysis::Bound& bound : model.bounds) {
    bound.inputs.clear();
  }
}

}  // namespace

RunMetrics run_metrics(analysis::RunReport report, std::size_t slowest) {
  RunMetrics metrics;
  metrics.deviation = analysis::process_deviation(report.rows);
  metrics.exclusions = std::move(report.exclusions);
  std::erase_if(metrics.exclusions,
                [day = analysis::day_of(report.run.header)](const results::Exclusion& each) {
                  return !each.holds_on(day);
                });
  for (const results::StoredMeasurement& row : report.rows) {
    if (row.reused) {
      ++metrics.reused;
      continue;
    }
    if (!metrics.exclusions.empty() &&
        results::find_exclusion(
            metrics.exclusions,
            results::case_names(results::layer_series(row.measurement.key.text))) != nullptr) {
      continue;
    }
    ++metrics.rows[row.measurement.outcome.kind];
    if (row.measurement.outcome.timed()) {
      ++metrics.timed;
      metrics.disturbed += row.measurement.disturbance.disturbed ? 1 : 0;
      results::add_readings(metrics.readings, row.measurement.readings);
    }
  }
  const analysis::ResultSet results(std::move(report.rows), report.calibration);
  add_benchmarks(results, metrics);
  for (analysis::RunReport::Model& model : report.models) {
    metrics.times.push_back(collect_times(model, results, slowest));
    slim(model.bounds);
    for (const analysis::ExecutionTime& execution : model.bounds.executions) {
      results::add_readings(metrics.readings, execution.readings);
    }
    metrics.models.push_back(std::move(model.bounds));
    for (analysis::WhatIfResult& whatif : model.whatifs.whatifs) {
      whatif.layers.clear();
    }
    metrics.whatifs.push_back(std::move(model.whatifs));
  }
  metrics.run = std::move(report.run);
  metrics.run.header.resolved_suite.clear();
  return metrics;
}

}  // namespace plumb::reporting
