// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::analysis {
namespace {

/// Returns whether a layer only gives its operand's bytes other extents, or stands for the reorders
/// of the outputs.
bool costs_nothing(const results::Execution::Layer& layer) {
  return layer.layers.empty() || layer.key.text.find(":view;") != std::string::npos;
}

std::optional<KeyTime> alone(const results::Execution::Layer& layer, const ResultSet& results) {
  std::optional<KeyTime> time =
      results.of_variant(layer.key, layer.variant, results::CacheMode::kWeights);
  if (!time) {
    time = results.best(layer.key, results::CacheMode::kWeights);
  }
  return time;
}

Bound estimate_in_context(const results::Execution& execution, const measure::MeasuredTime& time) {
  Bound estimate;
  estimate.kind = results::BoundKind::kPredicted;
  estimate.mode = execution.mode;
  estimate.complete = true;
  estimate.oldest_row = execution.row.started;
  estimate.seconds = time.median;
  estimate.interval = time.interval;
  return estimate;
}

}  // namespace

std::optional<Bound> estimate_of_plan(const results::Execution& execution,
                                      const ResultSet& results) {
  if (execution.in_context) {
    return estimate_in_context(execution, *execution.in_context);
  }
  if (execution.layers.empty() || !results.has_cold_rows()) {
    return std::nullopt;
  }
  std::vector<PartitionStep> steps;
  Seconds reorders{};
  for (const results::Execution::Layer& layer : execution.layers) {
    reorders += layer.reorder;
    if (!costs_nothing(layer)) {
      steps.push_back({layer.layers, {}, layer.key, alone(layer, results), false});
    }
  }
  Bound estimate = make_bound(results::BoundKind::kPredicted, execution.mode, steps);
  estimate.seconds += reorders;
  estimate.interval.low += reorders;
  estimate.interval.high += reorders;
  estimate.lacks = {"the caches as the step before leaves them", "gaps between steps"};
  if (results::execution_mode_from(execution.mode).has_branches()) {
    estimate.lacks.emplace_back("parallel branches");
  }
  return estimate;
}

std::vector<ExecutionTime::PricedStep> priced_steps(const results::Execution& execution,
                                                    const ResultSet& results) {
  if (results::execution_mode_from(execution.mode).has_branches()) {
    return {};
  }
  std::vector<ExecutionTime::PricedStep> steps;
  for (const results::Execution::Layer& layer : execution.layers) {
    ExecutionTime::PricedStep step{layer.layers, layer.key, layer.variant, layer.reorder};
    if (execution.in_context) {
      if (!layer.in_context) {
        return {};
      }
      step.seconds = layer.in_context->median;
    } else if (!costs_nothing(layer)) {
      const std::optional<KeyTime> time = alone(layer, results);
      if (!time) {
        return {};
      }
      step.seconds += time->time.median;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<ExecutionTime::Layer> largest_differences(const results::Execution& execution,
                                                      const model::Graph& graph,
                                                      const ResultSet& results,
                                                      std::size_t most) {
  std::vector<ExecutionTime::Layer> layers;
  for (const results::Execution::Layer& layer : execution.layers) {
    const bool known = std::all_of(layer.layers.begin(),
                                   layer.layers.end(),
                                   [&](model::LayerId id) { return id < graph.layers.size(); });
    const std::optional<KeyTime> time =
        results.of_variant(layer.key, layer.variant, results::CacheMode::kWeights);
    if (known && !costs_nothing(layer) && time) {
      layers.push_back({name_of(graph, layer.layers),
                        layer.key,
                        layer.variant,
                        layer.seconds,
                        time->time.median});
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto& left, const auto& right) {
    return std::abs((left.inside - left.alone).count()) >
           std::abs((right.inside - right.alone).count());
  });
  layers.resize(std::min(most, layers.size()));
  return layers;
}

namespace {

constexpr std::size_t kMaxDifferences = 20;

/// Puts the price of an executed plan where the mode's sum of single layers stands, or after the
/// last estimate. An incomplete price leaves that sum in place.
void put_prediction(Bound estimate, std::vector<Bound>& bounds) {
  auto place = bounds.end();
  for (auto bound = bounds.begin(); bound != bounds.end(); ++bound) {
    const bool price = bound->kind == estimate.kind;
    const bool sum = bound->kind == results::BoundKind::kLayerSum;
    if (bound->mode == estimate.mode && (price || (sum && estimate.complete))) {
      *bound = std::move(estimate);
      return;
    }
    place = price || sum ? bound + 1 : place;
  }
  bounds.insert(place, std::move(estimate));
}

void add_findings(const ExecutionTime& time, ModelBounds& model) {
  if (time.samples == 0) {
    model.findings.push_back(fmt::format("not executed end to end ({}): {}: {}",
                                         time.mode,
                                         to_text(time.outcome.kind),
                                         time.outcome.reason));
    return;
  }
  if (const auto nodes = time.attributes.find(results::kCpuNodes); nodes != time.attributes.end()) {
    model.findings.push_back(
        fmt::format("nodes fell back to the CPU ({}): {}", time.mode, nodes->second));
  }
  if (time.disturbed) {
    model.disturbances.push_back(
        fmt::format("the execution end to end ({}) was disturbed: run again when the host is quiet",
                    time.mode));
  }
  if (time.outcome.kind == results::Outcome::Kind::kUnstable) {
    model.disturbances.push_back(fmt::format(
        "the execution end to end ({}) is unstable: {}", time.mode, time.outcome.reason));
  }
  for (const Bound& bound : model.bounds) {
    if (must_not_exceed(bound, time) && bound.interval.low > time.interval.high) {
      model.findings.push_back(fmt::format(
          "{} ({}) at {:.6g} s lies above the execution end to end ({}) at {:.6g} s, which is "
          "impossible: {}",
          to_text(bound.kind),
          bound.mode,
          bound.seconds.count(),
          time.mode,
          time.median.count(),
          bound.kind == results::BoundKind::kHardware
              ? "look for a wrong calibration"
              : "the layers were measured on a slower host than the model, or "
                "they do more work alone than in the model"));
    }
  }
}

/// Adds the times of a shape among others. A shape that could not be executed so is a finding.
void add_alternation(ExecutionTime time, ModelBounds& model) {
  if (time.samples == 0) {
    model.findings.push_back(fmt::format("not executed among its other shapes ({}): {}: {}",
                                         time.mode,
                                         to_text(time.outcome.kind),
                                         time.outcome.reason));
  }
  // All turns of a process are of one block.
  if (time.disturbed && time.turn == results::SeriesName::Turn::kFirst) {
    model.disturbances.push_back(fmt::format(
        "the execution among its other shapes ({}) was disturbed: run again when the host is quiet",
        time.mode));
  }
  model.alternations.push_back(std::move(time));
}

}  // namespace

ExecutionTime execution_time(const ReplicatedExecution& execution) {
  const results::Execution& told = *execution.told;
  ExecutionTime time;
  time.mode = told.mode;
  time.scenario = told.scenario;
  time.turn = told.turn;
  time.library_choice = told.row.library_choice;
  time.memory = told.memory;
  time.reorders = told.reorders;
  time.output_hash = told.row.output_hash;
  time.maximum_error = told.row.maximum_error;
  time.attributes = told.row.attributes;
  time.outcome = execution.processes.back()->row.outcome;
  if (!time.outcome.timed()) {
    return time;
  }
  std::vector<measure::SampleSummary> corrected;
  std::vector<Seconds> sorted;
  time.disturbed = true;
  for (const results::Execution* const process : execution.processes) {
    const results::Measurement& row = process->row;
    corrected.push_back(row.corrected());
    for (const Seconds sample : row.samples) {
      sorted.push_back(std::max(sample - row.floor, Seconds(0.0)));
    }
    if (corrected.back().median > Seconds(0.0) && !row.disturbance.disturbed) {
      time.process_logs.push_back(std::log(corrected.back().median.count()));
    }
    time.disturbed = time.disturbed && row.disturbance.disturbed;
    results::add_readings(time.readings, row.readings);
  }
  std::sort(sorted.begin(), sorted.end());
  const measure::SampleSummary pooled = pool_processes(corrected);
  time.samples = sorted.size();
  time.median = pooled.median;
  time.interval = pooled.interval;
  time.p90 = measure::quantile(sorted, 0.90);
  time.p99 = measure::quantile(sorted, 0.99);
  return time;
}

void add_executions(std::span<const results::Execution> executions,
                    const model::Graph& graph,
                    const ResultSet& results,
                    ModelBounds& model) {
  for (const ReplicatedExecution& execution : replicated_executions(executions)) {
    const results::Execution& told = *execution.told;
    if (told.turn) {
      add_alternation(execution_time(execution), model);
      continue;
    }
    model.executions.push_back(execution_time(execution));
    model.executions.back().differences =
        largest_differences(told, graph, results, kMaxDifferences);
    if (std::optional<Bound> estimate = estimate_of_plan(told, results)) {
      put_prediction(std::move(*estimate), model.bounds);
    }
    add_findings(model.executions.back(), model);
  }
}

std::vector<results::ScenarioResult> newest_loads(std::span<const results::ScenarioResult> loads) {
  std::vector<results::ScenarioResult> newest;
  for (const results::ScenarioResult& load : loads) {
    const auto same =
        std::find_if(newest.begin(), newest.end(), [&](const results::ScenarioResult& other) {
          return other.mode == load.mode && other.scenario == load.scenario;
        });
    if (same == newest.end()) {
      newest.push_back(load);
    } else if (same->started <= load.started) {
      *same = load;
    }
  }
  return newest;
}

void add_loads(std::span<const results::ScenarioResult> loads, ModelBounds& model) {
  model.loads = newest_loads(loads);
  for (const results::ScenarioResult& load : model.loads) {
    const results::ScenarioResult::Verdict verdict = judge_load(load);
    for (const std::string& reason : results::list_reasons(load)) {
      model.findings.push_back(
          verdict == results::ScenarioResult::Verdict::kNotExecuted
              ? fmt::format("scenario {} ({}) was not executed: {}: {}",
                            to_text(load.scenario),
                            load.mode,
                            to_text(load.outcome.kind),
                            reason)
              : fmt::format(
                    "scenario {} ({}) is INVALID: {}", to_text(load.scenario), load.mode, reason));
    }
    if (load.disturbance.disturbed) {
      model.disturbances.push_back(
          fmt::format("scenario {} ({}) was disturbed: run again when the host is quiet",
                      to_text(load.scenario),
                      load.mode));
    }
  }
}

}  // namespace plumb::analysis
