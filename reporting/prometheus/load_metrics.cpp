// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <string>

#include "harness/results/scenario_result.hpp"
#include "reporting/prometheus/label_text.hpp"
#include "reporting/prometheus/model_metrics.hpp"

namespace plumb::reporting {
namespace {

using results::LoadVerdict;
using results::ScenarioResult;

constexpr std::array kLoadVerdicts{LoadVerdict::kValid,
                                   LoadVerdict::kFailed,
                                   LoadVerdict::kInconclusive,
                                   LoadVerdict::kNotExecuted};

/// Returns a model's labels with those of one of its loads.
MetricLabels load_labels(const ModelMetrics& model, const ScenarioResult& load) {
  MetricLabels labels = model.labels;
  add_label(labels, "mode", label_text(load.mode));
  add_label(labels, "scenario", std::string(to_text(load.scenario)));
  return labels;
}

/// Calls `use` for each load that has a result, an invalid one too.
template <typename Use>
void with_results(const ModelMetrics& model, Use&& use) {
  for (const ScenarioResult& load : model.bounds->loads) {
    if (load.result) {
      use(load_labels(model, load), *load.result);
    }
  }
}

void add_load_state(const ModelMetrics& model, GaugeFamily& family) {
  for (const ScenarioResult& load : model.bounds->loads) {
    const MetricLabels labels = load_labels(model, load);
    const LoadVerdict holds = results::judge_load(load);
    for (const LoadVerdict verdict : kLoadVerdicts) {
      family.add(labels, {{"state", std::string(to_text(verdict))}}, verdict == holds ? 1.0 : 0.0);
    }
  }
}

void add_load_latency(const ModelMetrics& model, GaugeFamily& family) {
  with_results(model, [&](const MetricLabels& labels, const loadgen::LoadResult& result) {
    const loadgen::LatencySummary& latency = result.query_latency;
    if (latency.count == 0) {
      return;
    }
    for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
      const double percent = loadgen::LatencySummary::kPercentiles.at(i);
      family.add(labels,
                 {{"stat", percent == 50.0 ? "median" : fmt::format("p{:g}", percent)}},
                 Seconds(latency.percentiles.at(i)).count());
    }
  });
}

void add_load_limit(const ModelMetrics& model, GaugeFamily& family) {
  with_results(model, [&](const MetricLabels& labels, const loadgen::LoadResult& result) {
    if (result.load.latency_limit) {
      family.add(labels, {}, Seconds(*result.load.latency_limit).count());
    }
  });
}

void add_load_queries(const ModelMetrics& model, GaugeFamily& family) {
  with_results(model, [&](const MetricLabels& labels, const loadgen::LoadResult& result) {
    family.add(labels, {}, result.queries_per_second);
  });
}

void add_load_samples(const ModelMetrics& model, GaugeFamily& family) {
  with_results(model, [&](const MetricLabels& labels, const loadgen::LoadResult& result) {
    family.add(labels, {}, result.samples_per_second);
  });
}

/// Adds the scores of one unit. The score of an invalid load is none.
void add_scores(const ModelMetrics& model, std::string_view unit, GaugeFamily& family) {
  for (const ScenarioResult& load : model.bounds->loads) {
    const std::optional<results::LoadScore> score = results::compute_score(load);
    if (score && score->value && score->unit == unit &&
        results::judge_load(load) == LoadVerdict::kValid) {
      family.add(load_labels(model, load), {}, *score->value);
    }
  }
}

void add_load_score_seconds(const ModelMetrics& model, GaugeFamily& family) {
  add_scores(model, "seconds", family);
}

void add_load_score_rate(const ModelMetrics& model, GaugeFamily& family) {
  add_scores(model, "per_second", family);
}

void add_load_memory(const ModelMetrics& model, GaugeFamily& family) {
  for (const ScenarioResult& load : model.bounds->loads) {
    if (load.memory > Bytes{0}) {
      family.add(load_labels(model, load), {}, static_cast<double>(load.memory.value));
    }
  }
}

constexpr std::array<MetricRow<ModelMetrics>, 8> kLoadTable{{
    {"plumb_load_state", "Verdict on a load by a scenario of MLPerf.", add_load_state},
    {"plumb_load_latency_seconds", "Latency of the queries of a load.", add_load_latency},
    {"plumb_load_latency_limit_seconds",
     "Limit of the latency that a load must keep.",
     add_load_limit},
    {"plumb_load_queries_per_second", "Queries that a load completed a second.", add_load_queries},
    {"plumb_load_samples_per_second", "Samples that a load completed a second.", add_load_samples},
    {"plumb_load_score_seconds",
     "Score of a valid load that is a latency.",
     add_load_score_seconds},
    {"plumb_load_score_per_second", "Score of a valid load that is a rate.", add_load_score_rate},
    {"plumb_load_memory_bytes", "Planned memory of a load.", add_load_memory},
}};

}  // namespace

std::span<const MetricRow<ModelMetrics>> load_metric_table() {
  return kLoadTable;
}

}  // namespace plumb::reporting
