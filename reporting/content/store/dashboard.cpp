// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stats/statistical_tests.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

/// Identity of a line of the history: a model where it runs, whichever suite measured it.
using Place =
    std::tuple<analysis::ModelInstance, std::string, std::string, std::string, std::string>;

Place place_of(const analysis::ModelInstance& instance, const analysis::RunSeries& series) {
  return {instance, series.backend, series.stack, series.threads, series.system};
}

const results::Facts& facts_of(const SuiteMetrics& suite) {
  return suite.newest->run.header.environment.facts;
}

/// Returns the library behind a run: its version if the run knows it.
analysis::Json library_of(const SuiteMetrics& suite) {
  if (const auto version = facts_of(suite).find("library.version");
      version != facts_of(suite).end() && !version->second.empty()) {
    return version->second;
  }
  const results::Facts& identity = suite.newest->run.header.environment.identity;
  const auto library = identity.find("library");
  return library == identity.end() ? analysis::Json() : analysis::Json(library->second);
}

/// Returns the execution that is followed over time: mode plain, scenario single_stream. It has no
/// samples if the run has none.
analysis::ExecutionTime followed(const analysis::ModelBounds& model) {
  analysis::ExecutionTime wanted;
  wanted.mode = "plain";
  wanted.scenario = loadgen::ScenarioName::kSingleStream;
  const auto found =
      std::find_if(model.executions.begin(), model.executions.end(), [&](const auto& each) {
        return each.mode == wanted.mode && each.scenario == wanted.scenario && each.samples > 0;
      });
  return found == model.executions.end() ? wanted : *found;
}

/// Returns what a run measured: its commit, and the commit's address. Null: not known.
analysis::Json commit_json(const SuiteMetrics& suite, const results::CommitLink& commits) {
  const std::string commit = results::commit_of(suite.newest->run.header.environment);
  const std::string address = commits.address(commit);
  return commit.empty()
             ? analysis::Json()
             : analysis::Json{
                   {"name", commit},
                   {"url", address.empty() ? analysis::Json() : analysis::Json(address)}};
}

analysis::Json point_json(const SuiteMetrics& suite,
                          const analysis::ModelBounds& model,
                          const results::CommitLink& commits) {
  analysis::Json point{{"run", suite.newest->run.header.id},
                       {"started", to_text(suite.newest->run.header.started)},
                       {"library", library_of(suite)},
                       {"commit", commit_json(suite, commits)},
                       {"seconds", analysis::Json()},
                       {"low", analysis::Json()},
                       {"high", analysis::Json()},
                       {"library_seconds", analysis::Json()},
                       {"hardware_seconds", analysis::Json()},
                       {"ratio", analysis::Json()}};
  const analysis::ExecutionTime execution = followed(model);
  if (execution.samples > 0) {
    point["seconds"] = execution.median.count();
    point["low"] = execution.interval.low.count();
    point["high"] = execution.interval.high.count();
  }
  for (const analysis::Bound& bound : model.bounds) {
    if (!analysis::must_not_exceed(bound, execution)) {
      continue;
    }
    point[std::string(to_text(bound.kind)) + "_seconds"] = bound.seconds.count();
    if (bound.kind == results::BoundKind::kLibrary && execution.median > Seconds(0.0)) {
      point["ratio"] = bound.seconds / execution.median;
    }
  }
  return point;
}

analysis::Json model_json(const SuiteMetrics& suite, const analysis::ModelInstance& instance) {
  analysis::Json model{{"model", instance.model},
                       {"batch", instance.batch},
                       {"dtype", instance.dtype},
                       {"dims", analysis::Json::object()},
                       {"device", suite.device},
                       {"stack", suite.series.stack},
                       {"threads", suite.series.threads},
                       {"points", analysis::Json::array()},
                       {"states", analysis::Json::array()}};
  for (const auto& [name, extent] : instance.dims) {
    model["dims"][name] = extent;
  }
  if (!instance.training.empty()) {
    model["training"] = instance.training;
  }
  return model;
}

analysis::Json states_json(const SuiteMetrics& suite, const analysis::ModelInstance& instance) {
  analysis::Json states = analysis::Json::array();
  for (const analysis::ModelRegression& regression : suite.regressions) {
    if (regression.instance == instance) {
      states.push_back({{"metric", regression.metric},
                        {"mode", regression.mode},
                        {"state", to_text(regression.state)},
                        {"ratio", analysis::number_or_null(regression.ratio)}});
    }
  }
  return states;
}

analysis::Json models_json(const Dashboard& dashboard) {
  std::map<Place, analysis::Json> models;
  for (const SuiteMetrics& suite : dashboard.points) {
    for (const analysis::ModelBounds& bounds : suite.newest->models) {
      analysis::Json& model = models
                                  .try_emplace(place_of(bounds.instance, suite.series),
                                               model_json(suite, bounds.instance))
                                  .first->second;
      model["points"].push_back(point_json(suite, bounds, dashboard.commits));
      model["states"] = states_json(suite, bounds.instance);
    }
  }
  analysis::Json list = analysis::Json::array();
  for (auto& [place, model] : models) {
    list.push_back(std::move(model));
  }
  return list;
}

/// Returns the geometric mean of the newest ratios of all models. Null: no model has one.
analysis::Json mean_ratio(const analysis::Json& models) {
  std::vector<double> ratios;
  for (const analysis::Json& model : models) {
    const analysis::Json& ratio = model["points"].back()["ratio"];
    if (ratio.is_number() && ratio.get<double>() > 0.0) {
      ratios.push_back(ratio.get<double>());
    }
  }
  const std::optional<stats::GeometricMean> mean = stats::geometric_mean(ratios);
  return mean ? analysis::Json(mean->mean) : analysis::Json();
}

/// Null: the clock was set back between the two.
analysis::Json seconds_between(Timestamp begin, Timestamp end) {
  return analysis::seconds_or_null(elapsed(begin, end));
}

/// Returns what the newest runs' suites exclude.
analysis::Json excluded_json(const Dashboard& dashboard) {
  analysis::Json list = analysis::Json::array();
  for (const SuiteMetrics& suite : dashboard.present) {
    if (!suite.newest) {
      continue;
    }
    for (const results::Exclusion& each : suite.newest->exclusions) {
      list.push_back({{"suite", suite.series.suite},
                      {"stack", suite.series.stack},
                      {"case", each.match},
                      {"reason", each.reason},
                      {"who", each.who},
                      {"expires", each.until}});
    }
  }
  return list;
}

analysis::Json suite_json(const SuiteMetrics& suite,
                          Timestamp now,
                          const results::CommitLink& commits) {
  const RunMetrics& run = *suite.newest;
  const auto complete = std::count_if(run.models.begin(), run.models.end(), [](const auto& model) {
    return model.measured_layers == model.total_layers;
  });
  analysis::Json row{{"suite", suite.series.suite},
                     {"device", suite.device},
                     {"stack", suite.series.stack},
                     {"library", library_of(suite)},
                     {"commit", commit_json(suite, commits)},
                     {"age_seconds", analysis::Json()},
                     {"duration_seconds", analysis::Json()},
                     {"models", run.models.size()},
                     {"complete_models", complete},
                     {"failed_rows", run.run.rows_failed},
                     {"disturbed_ratio", analysis::Json()},
                     {"environment_changed", analysis::Json()}};
  if (run.run.finished) {
    row["age_seconds"] = seconds_between(*run.run.finished, now);
    row["duration_seconds"] = seconds_between(run.run.header.started, *run.run.finished);
  }
  if (run.timed > 0) {
    row["disturbed_ratio"] = static_cast<double>(run.disturbed) / static_cast<double>(run.timed);
  }
  if (suite.environment_changed) {
    row["environment_changed"] = *suite.environment_changed;
  }
  return row;
}

}  // namespace

void write_dashboard(const Dashboard& dashboard, std::ostream& out) {
  analysis::Json data{{"now", to_text(dashboard.now)},
                      {"version", dashboard.version},
                      {"runs", dashboard.points.size()},
                      {"first", analysis::Json()},
                      {"last", analysis::Json()},
                      {"models", models_json(dashboard)},
                      {"suites", analysis::Json::array()},
                      {"exclusions", excluded_json(dashboard)}};
  data["mean_ratio"] = mean_ratio(data["models"]);
  if (!dashboard.points.empty()) {
    data["first"] = to_text(dashboard.points.front().newest->run.header.started);
    data["last"] = to_text(dashboard.points.back().newest->run.header.started);
  }
  for (const SuiteMetrics& suite : dashboard.present) {
    if (suite.newest) {
      data["suites"].push_back(suite_json(suite, dashboard.now, dashboard.commits));
    }
  }
  write_page({"Plumbline report", "", data, embedded_page().dashboard_script}, out);
}

}  // namespace plumb::reporting
