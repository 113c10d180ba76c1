// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/run_times.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
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
         results::parse_series(series).kind != results::SeriesKind::kAlternation;
}

KindScores compute_scores(std::span<const RunTimes> runs, bool (*is_of_kind)(std::string_view)) {
  KindScores scores{std::vector<double>(runs.size(), 0.0), 0};
  for (const auto& entry : runs.front().logs) {
    const std::string& series = entry.first;
    const bool common =
        is_of_kind(series) && std::all_of(runs.begin(), runs.end(), [&](const RunTimes& run) {
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

RunTimes collect_run_times(const ResultSet& results, std::span<const ModelBounds> models) {
  RunTimes times;
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

std::string to_json(const RunTimes& times) {
  nlohmann::json document{{"series", nlohmann::json::array()}};
  for (const auto& [id, logs] : times.logs) {
    document["series"].push_back({{"id", id}, {"log_seconds", logs}});
  }
  return json_text(document);
}

RunTimes run_times_from_json(std::string_view json) {
  RunTimes times;
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

std::size_t middle_run(std::span<const RunTimes> runs) {
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
