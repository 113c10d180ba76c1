// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_records.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kMaxBounds = 1000;

/// Returns the finished runs of the newest run's series that the query allows, oldest first.
std::vector<results::RunRecord> find_runs(const store::Store& store, const HistoryQuery& query) {
  std::vector<results::RunRecord> runs;
  for (results::RunRecord& run : store.runs()) {  // newest first
    const bool wanted = run.state == results::RunState::kFinished &&
                        analysis::is_point_of_history(run.header) &&
                        (query.suite.empty() || run.header.suite == query.suite) &&
                        (query.stack.empty() || run.header.stack == query.stack);
    const analysis::RunSeries series = analysis::run_series_of(run.header);
    if (wanted &&
        (query.only ? series == *query.only
                    : runs.empty() || series == analysis::run_series_of(runs.front().header))) {
      runs.push_back(std::move(run));
    }
  }
  if (runs.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the store has no finished run{}{}: see 'plumb runs'",
                            query.suite.empty() ? "" : " of suite '" + query.suite + "'",
                            query.stack.empty() ? "" : " with stack '" + query.stack + "'"));
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

bool is_wanted(const std::string& id, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return id.starts_with(name) || id == results::layer_series(name);
         });
}

/// Reader of the series of a history, in order of id.
class HistoryReader {
 public:
  HistoryReader(const store::Store& store,
                const analysis::SuiteHistory& history,
                const HistoryQuery& query)
      : store_(store), runs_(history.runs), names_(query.series) {
    for (const results::RunRecord& run : runs_) {
      ids_.insert(run.header.id);
    }
  }

  std::vector<analysis::SuiteHistory::Series> read() {
    for (const results::RunRecord& run : runs_) {
      read_executions(run.header.id);
      read_bounds(run.header.id);
    }
    // A series without a point of the newest run has ended.
    std::erase_if(points_, [&](const auto& series) {
      return series.second.back().run != runs_.back().header.id;
    });
    read_layers();
    std::vector<analysis::SuiteHistory::Series> result;
    for (auto& [id, points] : points_) {
      result.push_back({id, std::move(points)});
    }
    return result;
  }

 private:
  void add(const std::string& id,
           const results::RunId& run,
           double seconds,
           const std::string& variant = "") {
    if (seconds > 0.0 && is_wanted(id, names_)) {
      points_[id].push_back({run, seconds, variant});
    }
  }

  void read_layers() {
    std::set<std::string> keys;
    for (const results::StoredMeasurement& row : store_.measurements(runs_.back().header.id)) {
      keys.insert(row.measurement.key.text);
    }
    for (const std::string& key : keys) {
      if (!is_wanted(results::layer_series(key), names_)) {
        continue;
      }
      for (const store::Store::SeriesQuery::Point& point :
           store_.series({.key = key, .cache = results::CacheMode::kNone, .environment = {}})) {
        if (ids_.contains(point.run)) {
          add(results::layer_series(key), point.run, point.corrected.median.count(), point.variant);
        }
      }
    }
  }

  void read_executions(const results::RunId& run) {
    std::map<std::string, double> times;
    for (const auto& [subject, executions] : read_results(store_, run).executions) {
      for (const analysis::ReplicatedExecution& execution :
           analysis::replicated_executions(executions)) {
        const analysis::ExecutionTime time = analysis::execution_time(execution);
        if (time.samples > 0) {
          times[analysis::end_to_end_series(subject, time.mode, time.scenario, time.turn)] =
              time.median.count();
        }
      }
    }
    add_all(times, run);
  }

  /// Reads the complete bounds of a run. The last record of a model is that of the newest analysis.
  void read_bounds(const results::RunId& run) {
    std::map<std::string, std::string> newest;
    for (results::DerivedRecord& record : store_.derived(run, results::kBoundRecord)) {
      newest[record.subject] = std::move(record.payload);
    }
    std::map<std::string, double> times;
    for (const auto& [subject, payload] : newest) {
      const nlohmann::json document = results::parse_json(payload);
      for (const nlohmann::json& model : results::JsonObject(document).array("models", 1)) {
        for (const nlohmann::json& entry : results::JsonObject(model).array("bounds", kMaxBounds)) {
          const results::JsonObject bound(entry);
          const auto kind = results::parse_bound_kind(bound.text("kind"));
          if (kind && bound.boolean("complete") && bound.has("seconds")) {
            times[results::bound_series(subject, *kind, bound.text("mode"))] =
                bound.number("seconds");
          }
        }
      }
    }
    add_all(times, run);
  }

  void add_all(const std::map<std::string, double>& times, const results::RunId& run) {
    for (const auto& [id, seconds] : times) {
      add(id, run, seconds);
    }
  }

  const store::Store& store_;
  const std::vector<results::RunRecord>& runs_;
  const std::vector<std::string>& names_;
  std::set<results::RunId> ids_;
  std::map<std::string, std::vector<analysis::SuiteHistory::Series::Point>> points_;
};

}  // namespace

std::vector<analysis::RunSeries> list_histories(const store::Store& store,
                                                const std::string& suite,
                                                const std::string& stack) {
  std::vector<analysis::RunSeries> histories;
  for (const results::RunRecord& run : store.runs()) {
    const analysis::RunSeries series = analysis::run_series_of(run.header);
    if (run.state == results::RunState::kFinished && analysis::is_point_of_history(run.header) &&
        (suite.empty() || suite == series.suite) && (stack.empty() || stack == series.stack) &&
        std::find(histories.begin(), histories.end(), series) == histories.end()) {
      histories.push_back(series);
    }
  }
  return histories;
}

analysis::SuiteHistory read_history(const store::Store& store, const HistoryQuery& query) {
  analysis::SuiteHistory history;
  history.runs = find_runs(store, query);
  history.name = analysis::run_series_of(history.runs.back().header);
  history.series = HistoryReader(store, history, query).read();
  const std::vector<results::Exclusion> exclusions =
      holding_exclusions(store, history.runs.back().header);
  for (const analysis::SuiteHistory::Series& series : history.series) {
    if (const results::Exclusion* const found =
            results::find_exclusion(exclusions, results::case_names(series.id))) {
      history.excluded.push_back({series.id, *found});
    }
  }
  if (history.series.empty() && !query.series.empty()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "the newest run of {} has no point of '{}': leave SERIES out to list all series",
            history.name.suite,
            fmt::join(query.series, "', '")));
  }
  std::erase_if(history.series, [&](const analysis::SuiteHistory::Series& series) {
    return results::find_exclusion(exclusions, results::case_names(series.id)) != nullptr;
  });
  return history;
}

}  // namespace plumb::session
