// SPDX-License-Identifier: Apache-2.0
#include "reporting/exchange/exchange_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "harness/analysis/history/run_series.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::reporting {
namespace {

using Json = nlohmann::json;

/// Seconds of each series in one run, by the series' place.
using RunValues = std::map<std::size_t, double>;

std::map<results::RunId, RunValues> values_by_run(const analysis::SuiteHistory& history) {
  std::map<results::RunId, RunValues> values;
  for (std::size_t i = 0; i < history.series.size(); ++i) {
    for (const analysis::SuiteHistory::Series::Point& point : history.series[i].points) {
      values[point.run][i] = point.seconds;
    }
  }
  return values;
}

/// Returns what was measured: a commit or a version. Empty: the run does not say.
std::string version_of(const results::RunRecord& run) {
  return results::fact_of(run.header.environment.facts, "version");
}

std::string commit_of(const results::RunRecord& run) {
  const std::string version = version_of(run);
  return version.empty() ? run.header.id : version;
}

std::int64_t milliseconds(Timestamp time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

/// Makes a text fit for a file's name.
std::string file_name(const std::string& text) {
  std::string name = text;
  std::replace_if(
      name.begin(),
      name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '_' && c != '-'; },
      '-');
  return name.starts_with('.') ? "-" + name : name;
}

std::string dumped(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json asv_results(const analysis::SuiteHistory& history,
                 const results::RunRecord& run,
                 const RunValues& values,
                 const std::string& machine,
                 const std::string& environment) {
  Json results = Json::object();
  for (const auto& [series, seconds] : values) {
    results["time_" + exchanged_name(history.series[series].id)] =
        Json::array({Json::array({seconds}), Json::array(), "1", milliseconds(run.header.started)});
  }
  return Json{{"commit_hash", commit_of(run)},
              {"env_name", environment},
              {"date", milliseconds(run.header.started)},
              {"params", {{"machine", machine}}},
              {"python", ""},
              {"requirements", Json::object()},
              {"env_vars", Json::object()},
              {"result_columns", {"result", "params", "version", "started_at"}},
              {"results", std::move(results)},
              {"durations", Json::object()},
              {"version", 2}};
}

Json asv_benchmarks(const analysis::SuiteHistory& history) {
  Json benchmarks = Json::object();
  for (const analysis::SuiteHistory::Series& series : history.series) {
    const std::string name = "time_" + exchanged_name(series.id);
    benchmarks[name] = {{"code", ""},
                        {"name", name},
                        {"param_names", Json::array()},
                        {"params", Json::array()},
                        {"type", "time"},
                        {"unit", "seconds"},
                        {"version", "1"}};
  }
  benchmarks["version"] = 2;
  return benchmarks;
}

}  // namespace

std::string exchanged_name(const std::string& series) {
  const results::SeriesName name = results::parse_series(series);
  return name.kind == results::SeriesName::Kind::kLayer
             ? results::external_name(name.subject).value_or(series)
             : series;
}

void write_otava(const analysis::SuiteHistory& history, std::ostream& out) {
  out << "time,run,version";
  for (const analysis::SuiteHistory::Series& series : history.series) {
    out << ',' << csv_cell(exchanged_name(series.id));
  }
  out << '\n';
  const std::map<results::RunId, RunValues> values = values_by_run(history);
  for (const results::RunRecord& run : history.runs) {
    const auto measured = values.find(run.header.id);
    if (measured == values.end()) {
      continue;
    }
    out << fmt::format("{},{},{}",
                       to_text(run.header.started),
                       csv_cell(run.header.id),
                       csv_cell(version_of(run)));
    for (std::size_t i = 0; i < history.series.size(); ++i) {
      const auto value = measured->second.find(i);
      out << ',' << (value == measured->second.end() ? "" : fmt::format("{}", value->second));
    }
    out << '\n';
  }
}

void write_benchmark_action(const analysis::SuiteHistory& history, std::ostream& out) {
  const std::map<results::RunId, RunValues> values = values_by_run(history);
  Json entries = Json::array();
  for (const results::RunRecord& run : history.runs) {
    const auto measured = values.find(run.header.id);
    if (measured == values.end()) {
      continue;
    }
    Json benches = Json::array();
    for (const auto& [series, seconds] : measured->second) {
      benches.push_back(
          {{"name", exchanged_name(history.series[series].id)}, {"value", seconds}, {"unit", "s"}});
    }
    entries.push_back({{"commit",
                        {{"id", commit_of(run)},
                         {"message", "run " + run.header.id},
                         {"timestamp", to_text(run.header.started)},
                         {"url", ""},
                         {"committer", {{"username", ""}}}}},
                       {"date", milliseconds(run.header.started)},
                       {"tool", "customSmallerIsBetter"},
                       {"benches", std::move(benches)}});
  }
  const results::RunHeader& newest = history.runs.back().header;
  out << "window.BENCHMARK_DATA = "
      << dumped({{"lastUpdate", milliseconds(newest.started)},
                 {"repoUrl", ""},
                 {"entries", {{newest.suite, std::move(entries)}}}});
}

std::map<std::string, std::string> asv_files(const analysis::SuiteHistory& history) {
  constexpr std::size_t kHashDigits = 8;  // of a commit, in the names of asv's files
  const results::RunHeader& newest = history.runs.back().header;
  const std::string machine = "plumb-" + analysis::run_series_of(newest).system;
  const std::string environment = file_name(newest.backend + "-" + newest.stack);
  const std::map<results::RunId, RunValues> values = values_by_run(history);
  std::map<std::string, std::string> files{
      {"benchmarks.json", dumped(asv_benchmarks(history))},
      {machine + "/machine.json", dumped({{"machine", machine}, {"version", 1}})}};
  for (const results::RunRecord& run : history.runs) {
    const auto measured = values.find(run.header.id);
    if (measured == values.end()) {
      continue;
    }
    const std::string commit = commit_of(run);
    // Runs of a store share the first digits of their ids, commits do not.
    const std::string name =
        version_of(run).empty() ? commit : file_name(commit.substr(0, kHashDigits));
    files[fmt::format("{}/{}-{}.json", machine, name, environment)] =
        dumped(asv_results(history, run, measured->second, machine, environment));
  }
  return files;
}

}  // namespace plumb::reporting
