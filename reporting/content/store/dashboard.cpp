// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stats/statistical_tests.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/texts.hpp"
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
  return library == identity.end() ? analysis::Json() : analysis::text_or_null(library->second);
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

/// Returns the style of a state that is a change. Null: it is none.
analysis::Json change_tone(analysis::ModelRegression::State state) {
  switch (state) {
    case analysis::ModelRegression::State::kBroken:
    case analysis::ModelRegression::State::kRegressed:
      return "bad";
    case analysis::ModelRegression::State::kSuspected:
      return "warn";
    case analysis::ModelRegression::State::kImproved:
      return "good";
    case analysis::ModelRegression::State::kEquivalent:
    case analysis::ModelRegression::State::kInconclusive:
    case analysis::ModelRegression::State::kNoBaseline:
      return nullptr;
  }
  return nullptr;
}

analysis::Json states_json(const SuiteMetrics& suite, const analysis::ModelInstance& instance) {
  analysis::Json states = analysis::Json::array();
  for (const analysis::ModelRegression& regression : suite.regressions) {
    if (regression.instance == instance) {
      states.push_back({{"metric", regression.metric},
                        {"mode", regression.mode},
                        {"state", to_text(regression.state)},
                        {"tone", change_tone(regression.state)},
                        {"ratio", analysis::number_or_null(regression.ratio)}});
    }
  }
  return states;
}

/// Tells whether the library behind a point is another than at the point before, if one is known.
bool library_changed(const analysis::Json& points, const analysis::Json& point) {
  return !points.empty() && !point["library"].is_null() &&
         point["library"] != points.back()["library"];
}

analysis::Json models_json(const Dashboard& dashboard) {
  std::map<Place, analysis::Json> models;
  for (const SuiteMetrics& suite : dashboard.points) {
    for (const analysis::ModelBounds& bounds : suite.newest->models) {
      analysis::Json& model = models
                                  .try_emplace(place_of(bounds.instance, suite.series),
                                               model_json(suite, bounds.instance))
                                  .first->second;
      analysis::Json point = point_json(suite, bounds, dashboard.commits);
      point["library_changed"] = library_changed(model["points"], point);
      model["points"].push_back(std::move(point));
      model["states"] = states_json(suite, bounds.instance);
    }
  }
  analysis::Json list = analysis::Json::array();
  for (auto& [place, model] : models) {
    list.push_back(std::move(model));
  }
  return list;
}

/// Returns the geometric mean of the newest ratios of all models. Absent: no model has one.
std::optional<stats::GeometricMean> mean_ratio(const analysis::Json& models) {
  std::vector<double> ratios;
  for (const analysis::Json& model : models) {
    const analysis::Json& ratio = model["points"].back()["ratio"];
    if (ratio.is_number() && ratio.get<double>() > 0.0) {
      ratios.push_back(ratio.get<double>());
    }
  }
  return stats::geometric_mean(ratios);
}

/// Returns how many models are in a state by a metric, in any mode.
std::size_t models_in(const analysis::Json& models,
                      analysis::ModelRegression::State state,
                      std::string_view metric) {
  const auto is_in = [&](const analysis::Json& each) {
    return each["state"].get<std::string>() == to_text(state) &&
           each["metric"].get<std::string>() == metric;
  };
  std::size_t count = 0;
  for (const analysis::Json& model : models) {
    const analysis::Json& states = model["states"];
    if (std::any_of(states.begin(), states.end(), is_in)) {
      ++count;
    }
  }
  return count;
}

/// Returns the time since the newest run of the suite that has waited longest. Absent: not known.
std::optional<Seconds> oldest_age(const Dashboard& dashboard) {
  std::optional<Seconds> oldest;
  for (const SuiteMetrics& suite : dashboard.present) {
    if (suite.newest && suite.newest->run.finished) {
      oldest = std::max(oldest, elapsed(*suite.newest->run.finished, dashboard.now));
    }
  }
  return oldest;
}

/// Returns the figures at the top of the page, as they are shown. A tone is the name of a style.
analysis::Json tiles_json(const Dashboard& dashboard, const analysis::Json& models) {
  using State = analysis::ModelRegression::State;
  analysis::Json tiles = analysis::Json::array();
  const auto add =
      [&tiles](
          const char* label, const std::string& text, const char* tone, const char* explanation) {
        tiles.push_back(
            {{"label", label}, {"text", text}, {"tone", tone}, {"explanation", explanation}});
      };
  const auto add_count = [&](const char* label,
                             State state,
                             const char* metric,
                             const char* tone,
                             const char* explanation) {
    const std::size_t count = models_in(models, state, metric);
    add(label, std::to_string(count), count > 0 ? tone : "calm", explanation);
  };
  add_count(
      "broken", State::kBroken, "latency", "bad", "worked in the baseline and no longer works");
  add_count("regressed",
            State::kRegressed,
            "latency",
            "bad",
            "slower than the baseline in the newest two comparable runs");
  add_count("suspected", State::kSuspected, "latency", "warn", "only the newest run is slower");
  add_count("capability lost",
            State::kRegressed,
            "bound_library",
            "warn",
            "the library bound got worse, confirmed");
  add_count("inconclusive", State::kInconclusive, "latency", "warn", "not enough evidence to say");
  add_count("no baseline", State::kNoBaseline, "latency", "warn", "nothing to compare with");
  add_count("improved", State::kImproved, "latency", "good", "faster than the baseline");
  const std::optional<stats::GeometricMean> mean = mean_ratio(models);
  add("bound ÷ end to end",
      mean ? share_text(mean->mean, 0) : "–",
      !mean                                    ? "calm"
      : mean->mean >= Dashboard::kNearBound    ? "good"
      : mean->mean >= Dashboard::kFarFromBound ? "warn"
                                               : "bad",
      "geometric mean over the models; 100 % is at the bound");
  const std::optional<Seconds> oldest = oldest_age(dashboard);
  add("oldest suite",
      oldest ? duration_text(*oldest) : "–",
      oldest > Dashboard::kOldSuite ? "warn" : "calm",
      "time since the last run of the suite that has waited longest");
  return tiles;
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
  data["tiles"] = tiles_json(dashboard, data["models"]);
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
