// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/scenario_result.hpp"
#include "reporting/prometheus/metric_families.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kLayerNameBytes = 80;
constexpr std::size_t kAlgorithmBytes = 160;

std::string dims_text(const analysis::ModelInstance& instance) {
  std::string text;
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, extent);
  }
  return text;
}

MetricLabels make_labels(const SuiteMetrics& suite, const analysis::ModelInstance& instance) {
  MetricLabels labels;
  labels.reserve(10);
  add_label(labels, "model", label_text(instance.model));
  add_label(labels, "batch", std::to_string(instance.batch));
  add_label(labels, "dtype", label_text(instance.dtype));
  add_label(labels, "dims", label_text(dims_text(instance)));
  if (!instance.training.empty()) {
    add_label(labels, "training", label_text(instance.training));
  }
  add_label(labels, "backend", label_text(suite.series.backend));
  add_label(labels, "device", suite.device);
  add_label(labels, "stack", label_text(suite.series.stack));
  add_label(labels, "threads", label_text(suite.series.threads));
  add_label(labels, "system", suite.series.system);
  return labels;
}

void add_latency(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ExecutionTime& execution : model.bounds->executions) {
    if (execution.samples == 0) {
      continue;
    }
    for (const auto& [stat, time] : {std::pair("median", execution.median),
                                     std::pair("low", execution.interval.low),
                                     std::pair("high", execution.interval.high),
                                     std::pair("p90", execution.p90),
                                     std::pair("p99", execution.p99)}) {
      family.add(model.labels,
                 {{"mode", execution.mode},
                  {"scenario", std::string(to_text(execution.scenario))},
                  {"stat", stat}},
                 time.count());
    }
  }
}

void add_turns(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ExecutionTime& execution : model.bounds->alternations) {
    if (execution.samples == 0 || !execution.turn) {
      continue;
    }
    const auto add = [&](const char* stat, Seconds time) {
      family.add(model.labels,
                 {{"mode", execution.mode},
                  {"turn", std::string(to_text(*execution.turn))},
                  {"stat", stat}},
                 time.count());
    };
    add("median", execution.median);
    if (execution.samples > 1) {  // one has no interval
      add("low", execution.interval.low);
      add("high", execution.interval.high);
    }
  }
}

void add_memory(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ExecutionTime& execution : model.bounds->executions) {
    if (execution.memory > Bytes{0}) {
      family.add(model.labels,
                 {{"mode", execution.mode}, {"scenario", std::string(to_text(execution.scenario))}},
                 static_cast<double>(execution.memory.value));
    }
  }
}

void add_resident(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ExecutionTime& execution : model.bounds->executions) {
    const auto found = execution.readings.find(results::kResidentMemory);
    if (found != execution.readings.end()) {
      family.add(model.labels,
                 {{"mode", execution.mode}, {"scenario", std::string(to_text(execution.scenario))}},
                 found->second.median);
    }
  }
}

void add_energy(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ExecutionTime& execution : model.bounds->executions) {
    const auto energy = execution.readings.find("energy_joules");
    if (energy == execution.readings.end()) {
      continue;
    }
    for (const auto& [stat, joules] : {std::pair("median", energy->second.median),
                                       std::pair("low", energy->second.low),
                                       std::pair("high", energy->second.high)}) {
      family.add(model.labels,
                 {{"mode", execution.mode},
                  {"scenario", std::string(to_text(execution.scenario))},
                  {"stat", stat}},
                 joules);
    }
  }
}

void add_bound(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::Bound& bound : model.bounds->bounds) {
    if (!bound.complete) {
      continue;  // The sum of some layers would look like a better bound.
    }
    for (const auto& [stat, time] : {std::pair("value", bound.seconds),
                                     std::pair("low", bound.interval.low),
                                     std::pair("high", bound.interval.high)}) {
      family.add(model.labels,
                 {{"mode", bound.mode}, {"kind", std::string(to_text(bound.kind))}, {"stat", stat}},
                 time.count());
    }
  }
}

void add_complete(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::Bound& bound : model.bounds->bounds) {
    family.add(model.labels,
               {{"mode", bound.mode}, {"kind", std::string(to_text(bound.kind))}},
               bound.complete ? 1.0 : 0.0);
  }
}

void add_layers(const ModelMetrics& model, GaugeFamily& family) {
  const auto& without = model.bounds->unsupported;
  const auto failed = std::count_if(without.begin(), without.end(), [](const auto& layer) {
    return layer.outcome && *layer.outcome != results::Outcome::Kind::kSkipped;
  });
  const auto total = static_cast<double>(without.size());
  family.add(
      model.labels, {{"state", "measured"}}, static_cast<double>(model.bounds->measured_layers));
  family.add(model.labels, {{"state", "unsupported"}}, static_cast<double>(failed));
  family.add(model.labels, {{"state", "missing"}}, total - static_cast<double>(failed));
}

/// Calls `use` for each execution with each complete bound that it cannot beat.
template <typename Use>
void with_limits(const ModelMetrics& model, Use&& use) {
  for (const analysis::ExecutionTime& execution : model.bounds->executions) {
    if (execution.samples == 0 || execution.scenario != loadgen::ScenarioName::kSingleStream ||
        execution.median <= Seconds(0.0)) {
      continue;
    }
    for (const analysis::Bound& bound : model.bounds->bounds) {
      if (analysis::must_not_exceed(bound, execution)) {
        use(execution, bound);
      }
    }
  }
}

void add_normalized(const ModelMetrics& model, GaugeFamily& family) {
  with_limits(model, [&](const analysis::ExecutionTime& execution, const analysis::Bound& bound) {
    family.add(model.labels,
               {{"mode", execution.mode}, {"kind", std::string(to_text(bound.kind))}},
               bound.seconds / execution.median);
  });
}

void add_violated(const ModelMetrics& model, GaugeFamily& family) {
  with_limits(model, [&](const analysis::ExecutionTime& execution, const analysis::Bound& bound) {
    family.add(model.labels,
               {{"mode", execution.mode}, {"kind", std::string(to_text(bound.kind))}},
               bound.interval.low > execution.interval.high ? 1.0 : 0.0);
  });
}

void add_speedup(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::WhatIfResult& whatif : model.whatifs->whatifs) {
    if (whatif.predicted_speedup) {
      family.add(model.labels,
                 {{"whatif", whatif.name}, {"result", "predicted"}},
                 *whatif.predicted_speedup);
    }
    if (whatif.realised_speedup) {
      family.add(model.labels,
                 {{"whatif", whatif.name}, {"result", "realised"}},
                 *whatif.realised_speedup);
    }
  }
}

void add_prediction_error(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::WhatIfResult& whatif : model.whatifs->whatifs) {
    if (whatif.prediction_error) {
      const auto add = [&](const char* stat, double value) {
        family.add(model.labels, {{"whatif", whatif.name}, {"stat", stat}}, value);
      };
      add("value", whatif.prediction_error->share);
      add("low", whatif.prediction_error->low);
      add("high", whatif.prediction_error->high);
    }
  }
}

void add_operators(const ModelMetrics& model, GaugeFamily& family) {
  // Operators may have any name, and different names may give the same label.
  std::map<std::pair<std::string, std::string>, Seconds> sums;
  for (const RunMetrics::ModelTimes::Operator& each : model.times->operators) {
    sums[{each.mode, label_text(each.name)}] += each.seconds;
  }
  for (const auto& [name, seconds] : sums) {
    family.add(model.labels, {{"mode", name.first}, {"operator", name.second}}, seconds.count());
  }
}

void add_slowest(const ModelMetrics& model, GaugeFamily& family) {
  std::size_t rank = 0;
  for (const RunMetrics::ModelTimes::Layer& layer : model.times->slowest) {
    family.add(model.labels,
               {{"layer", label_text(layer.name, kLayerNameBytes)},
                {"operator", label_text(layer.op)},
                {"algorithm", label_text(layer.variant, kAlgorithmBytes)},
                {"rank", std::to_string(++rank)}},
               layer.seconds.count());
  }
}

void add_states(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ModelRegression* regression : model.regressions) {
    for (const analysis::ModelRegression::State state : analysis::kRegressionStates) {
      family.add(model.labels,
                 {{"mode", regression->mode},
                  {"metric", regression->metric},
                  {"state", std::string(to_text(state))}},
                 state == regression->state ? 1.0 : 0.0);
    }
  }
}

void add_ratio(const ModelMetrics& model, GaugeFamily& family) {
  for (const analysis::ModelRegression* regression : model.regressions) {
    if (regression->ratio) {
      family.add(model.labels,
                 {{"mode", regression->mode}, {"metric", regression->metric}},
                 *regression->ratio);
    }
  }
}

constexpr std::array<MetricRow<ModelMetrics>, 16> kTable{{
    {"plumb_model_latency_seconds", "Time of one execution end to end.", add_latency},
    {"plumb_model_alternation_seconds",
     "Time of one execution among other shapes of the model.",
     add_turns},
    {"plumb_model_memory_bytes", "Planned memory of one execution.", add_memory},
    {"plumb_model_resident_bytes",
     "Growth of a process's resident memory by one model.",
     add_resident},
    {"plumb_model_energy_joules", "Energy of one execution.", add_energy},
    {"plumb_model_bound_seconds", "Bound or estimate of a model's latency.", add_bound},
    {"plumb_model_bound_complete", "Whether all layers have a time (1) or not (0).", add_complete},
    {"plumb_model_layers", "Layers of a model by state.", add_layers},
    {"plumb_model_normalized_bound_ratio",
     "Bound divided by the median end to end of the same run.",
     add_normalized},
    {"plumb_model_bound_violated",
     "Whether a bound lies above what was measured (1), so that one of them is wrong, or not (0).",
     add_violated},
    {"plumb_model_operator_seconds", "Time of a model's layers by operator.", add_operators},
    {"plumb_layer_seconds", "Time of the slowest layers of a model.", add_slowest},
    {"plumb_whatif_speedup_ratio", "Speed-up by a change of mode.", add_speedup},
    {"plumb_whatif_prediction_error_ratio",
     "Difference of predicted and realised saving by the latency now.",
     add_prediction_error},
    {"plumb_regression_state", "State of a metric against its baseline.", add_states},
    {"plumb_regression_ratio", "Newest value divided by the baseline's.", add_ratio},
}};

}  // namespace

std::span<const MetricRow<ModelMetrics>> model_metric_table() {
  return kTable;
}

std::vector<ModelMetrics> list_model_metrics(std::span<const SuiteMetrics> suites) {
  std::map<MetricLabels, ModelMetrics> models;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    const RunMetrics& run = *suite->newest;
    for (std::size_t i = 0; i < run.models.size(); ++i) {
      MetricLabels labels = make_labels(*suite, run.models[i].instance);
      const auto [place, added] = models.try_emplace(labels);
      if (!added) {
        continue;
      }
      place->second = {std::move(labels), &run.models[i], &run.whatifs.at(i), &run.times.at(i), {}};
      for (const analysis::ModelRegression& regression : suite->regressions) {
        if (regression.instance == run.models[i].instance) {
          place->second.regressions.push_back(&regression);
        }
      }
    }
  }
  std::vector<ModelMetrics> result;
  result.reserve(models.size());
  for (auto& [labels, model] : models) {
    result.push_back(std::move(model));
  }
  return result;
}

namespace {

using results::ScenarioResult;

constexpr std::array kLoadVerdicts{results::ScenarioResult::Verdict::kValid,
                                   results::ScenarioResult::Verdict::kFailed,
                                   results::ScenarioResult::Verdict::kInconclusive,
                                   results::ScenarioResult::Verdict::kNotExecuted};

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
    const results::ScenarioResult::Verdict holds = results::judge_load(load);
    for (const results::ScenarioResult::Verdict verdict : kLoadVerdicts) {
      family.add(labels, {{"state", std::string(to_text(verdict))}}, verdict == holds ? 1.0 : 0.0);
    }
  }
}

void add_load_latency(const ModelMetrics& model, GaugeFamily& family) {
  with_results(model, [&](const MetricLabels& labels, const loadgen::LoadResult& result) {
    const loadgen::LoadResult::LatencySummary& latency = result.query_latency;
    if (latency.count == 0) {
      return;
    }
    for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
      const double percent = loadgen::LoadResult::LatencySummary::kPercentiles.at(i);
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
    const std::optional<results::ScenarioResult::Score> score = results::compute_score(load);
    if (score && score->value && score->unit == unit &&
        results::judge_load(load) == results::ScenarioResult::Verdict::kValid) {
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
