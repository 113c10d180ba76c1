// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/run_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/run.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

/// Returns whether a fact is one of `names` or below one ("driver" covers "driver.model").
bool is_among(const std::string& fact, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return fact.starts_with(name) && (fact.size() == name.size() || fact[name.size()] == '.');
  });
}

// Beside what is of the stack.
constexpr std::array<std::string_view, 2> kUpgradedOrEqual{"driver", "gpu.uuid"};
constexpr std::array<std::string_view, 6> kNotTheMachine{
    "driver", "backend", "threads", "method", "cache", "gpu.uuid"};
constexpr std::array<std::string_view, 7> kNoDrift{
    "stack", "plumb", "boot", "worker", "backend", "label", "gpu.index"};

/// Returns the identity without what is of the stack, and without these names.
results::Environment without_stack(const results::Environment& environment,
                                   std::span<const std::string_view> names) {
  results::Environment rest;
  for (const auto& [name, value] : environment.identity) {
    if (!results::is_of_stack(name) && !is_among(name, names)) {
      rest.identity.emplace(name, value);
    }
  }
  return rest;
}

}  // namespace

results::Facts system_identity(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).identity;
}

std::string system_id(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).id();
}

RunSeries run_series_of(const results::RunHeader& header) {
  return {header.suite,
          header.backend,
          header.stack,
          results::fact_of(header.environment.identity, "threads"),
          system_id(header.environment)};
}

bool are_comparable(const results::Environment& one, const results::Environment& other) {
  return without_stack(one, kUpgradedOrEqual).identity ==
         without_stack(other, kUpgradedOrEqual).identity;
}

std::vector<EnvironmentDifference> environment_drift(const results::Environment& before,
                                                     const results::Environment& after) {
  std::vector<EnvironmentDifference> drift = environment_changes(before, after);
  std::erase_if(drift, [](const EnvironmentDifference& difference) {
    return results::is_of_stack(difference.name) || is_among(difference.name, kNoDrift);
  });
  return drift;
}

std::vector<EnvironmentDifference> environment_changes(const results::Environment& before,
                                                       const results::Environment& after) {
  std::vector<EnvironmentDifference> changes = environment_diff(before, after);
  std::erase_if(
      changes, [](const EnvironmentDifference& difference) { return is_reading(difference.name); });
  return changes;
}

namespace {

using HostId = std::pair<HostHealth::Class, std::string>;
using HostReadings = std::map<HostId, std::vector<const HostHealth::Reading*>>;

/// Groups the newest readings by host.
HostReadings group_by_host(std::span<const HostHealth::Reading> newest_first) {
  HostReadings hosts;
  for (const HostHealth::Reading& reading : newest_first) {
    std::vector<const HostHealth::Reading*>& own = hosts[{reading.of, reading.controls.host}];
    if (own.size() < kReadingsOfHost) {
      own.push_back(&reading);
    }
  }
  return hosts;
}

Seconds median_control(std::span<const HostHealth::Reading* const> readings,
                       Seconds results::Controls::*time) {
  std::vector<Seconds> times;
  for (const HostHealth::Reading* const reading : readings) {
    times.push_back(reading->controls.*time);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::optional<double> compute_noise(std::span<const HostHealth::Reading* const> readings) {
  if (readings.size() < kMinReadings) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(readings.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const HostHealth::Reading* const reading : readings) {
    // Relative to the newest, so that squares of small differences are summed.
    const double log = std::log(reading->controls.product / readings.front()->controls.product);
    sum += log;
    squares += log * log;
  }
  return std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1.0)));
}

}  // namespace

HostHealth::Class control_class_of(const results::RunHeader& header) {
  const results::Facts& identity = header.environment.identity;
  return {system_id(header.environment),
          header.backend,
          results::fact_of(identity, "threads"),
          results::fact_of(identity, "method")};
}

ClassControls compute_class_controls(std::span<const HostHealth::Reading> newest_first) {
  std::map<HostHealth::Class, std::vector<const HostHealth::Reading*>> readings;
  for (const auto& [host, own] : group_by_host(newest_first)) {
    std::vector<const HostHealth::Reading*>& all = readings[host.first];
    all.insert(all.end(), own.begin(), own.end());
  }
  ClassControls classes;
  for (const auto& [name, all] : readings) {
    if (all.size() >= kMinReadings) {
      results::Controls& controls = classes[name];
      for (const results::Controls::Time& control : results::kControlTimes) {
        controls.*control.time = median_control(all, control.time);
      }
    }
  }
  return classes;
}

std::string find_class_drift(const HostHealth::Reading& reading, const ClassControls& classes) {
  const auto found = classes.find(reading.of);
  return found == classes.end()
             ? ""
             : find_control_difference(found->second, reading.controls, kControlLimit).value_or("");
}

std::vector<HostHealth> compute_host_health(std::span<const HostHealth::Reading> newest_first,
                                            const ClassControls& classes) {
  std::vector<HostHealth> hosts;
  for (const auto& [id, readings] : group_by_host(newest_first)) {
    HostHealth& host = hosts.emplace_back();
    host.newest = *readings.front();
    if (const auto found = classes.find(id.first); found != classes.end()) {
      host.of_class = found->second;
    }
    host.noise = compute_noise(readings);
    host.drift = find_class_drift(host.newest, classes);
  }
  return hosts;
}

namespace {

constexpr std::size_t kMaxSeries = 1'000'000;
constexpr std::size_t kMaxProcesses = 1'000;

/// Scores of runs by one kind of series. The score is the sum of median ln(time) over the series
/// that all runs have.
struct KindScores {
  std::vector<double> of_runs;
  std::size_t series = 0;
};

/// Returns whether a series is of a model that was executed without other shapes in between.
bool is_of_model_alone(std::string_view series) {
  return results::is_model_series(series) &&
         results::parse_series(series).kind != results::SeriesName::Kind::kAlternation;
}

KindScores compute_scores(std::span<const LearnedNoise::RunTimes> runs,
                          bool (*is_of_kind)(std::string_view)) {
  KindScores scores{std::vector<double>(runs.size(), 0.0), 0};
  for (const auto& entry : runs.front().logs) {
    const std::string& series = entry.first;
    const bool common =
        is_of_kind(series) &&
        std::all_of(runs.begin(), runs.end(), [&](const LearnedNoise::RunTimes& run) {
          const auto found = run.logs.find(series);
          return found != run.logs.end() && !found->second.empty();
        });
    if (!common) {
      continue;
    }
    ++scores.series;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      scores.of_runs[i] += compute_median(runs[i].logs.at(series));
    }
  }
  return scores;
}

}  // namespace

LearnedNoise::RunTimes collect_run_times(const ResultSet& results,
                                         std::span<const ModelBounds> models) {
  LearnedNoise::RunTimes times;
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : results.rows()) {
    if (!row.reused) {
      keys.insert(row.measurement.key);
    }
  }
  for (const model::LayerKey& key : keys) {
    if (const auto served = served_time(results, key)) {
      std::vector<double> logs = process_log_times(results.rows_of(key), served->variant);
      if (logs.size() >= kMinProcesses) {
        times.logs[results::layer_series(key.text)] = std::move(logs);
      }
    }
  }
  for (const ModelBounds& model : models) {
    for (const auto* const executions : {&model.executions, &model.alternations}) {
      for (const ExecutionTime& execution : *executions) {
        if (execution.process_logs.size() >= kMinProcesses) {
          times.logs[end_to_end_series(
              subject_of(model.instance), execution.mode, execution.scenario, execution.turn)] =
              execution.process_logs;
        }
      }
    }
  }
  return times;
}

std::string to_json(const LearnedNoise::RunTimes& times) {
  nlohmann::json document{{"series", nlohmann::json::array()}};
  for (const auto& [id, logs] : times.logs) {
    document["series"].push_back({{"id", id}, {"log_seconds", logs}});
  }
  return json_text(document);
}

LearnedNoise::RunTimes run_times_from_json(std::string_view json) {
  LearnedNoise::RunTimes times;
  const nlohmann::json document = results::parse_json(json);
  for (const nlohmann::json& entry : results::JsonObject(document).array("series", kMaxSeries)) {
    const results::JsonObject series(entry);
    std::vector<double>& logs = times.logs[series.text("id")];
    for (const nlohmann::json& value : series.array("log_seconds", kMaxProcesses)) {
      if (!value.is_number()) {
        throw Error(Error::Kind::kUser, "log_seconds: a value is not a number");
      }
      logs.push_back(value.get<double>());
    }
  }
  return times;
}

std::size_t middle_run(std::span<const LearnedNoise::RunTimes> runs) {
  PLUMB_CHECK(!runs.empty());
  KindScores scores = compute_scores(runs, is_of_model_alone);
  if (scores.series == 0) {
    scores = compute_scores(runs, results::is_layer_series);
  }
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return scores.of_runs[one] < scores.of_runs[other];
  });
  return order[order.size() / 2];
}

}  // namespace plumb::analysis
