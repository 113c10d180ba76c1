// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/sample_codec.hpp"

namespace plumb::importers {
namespace {

/// Returns the JSON document inside the script.
std::string_view document_in(std::string_view text) {
  constexpr std::string_view kVariable = "window.BENCHMARK_DATA";
  constexpr std::string_view kSpace = " \t\r\n";
  const auto trim = [&](std::string_view with) {
    text.remove_prefix(std::min(text.find_first_not_of(with), text.size()));
  };
  trim(kSpace);
  if (text.starts_with(kVariable)) {
    text.remove_prefix(kVariable.size());
    trim(kSpace);
    if (!text.starts_with('=')) {
      refuse("'window.BENCHMARK_DATA' is not assigned");
    }
    text.remove_prefix(1);
  }
  const std::size_t end = text.find_last_not_of(" \t\r\n;");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

/// Returns the seconds of a unit such as "ns/iter" or "ms". Absent: it is no time per execution.
std::optional<double> seconds_of(std::string unit) {
  for (const char* const per : {"/iter", "/op"}) {
    if (unit.ends_with(per)) {
      unit.resize(unit.size() - std::string_view(per).size());
    }
  }
  if (unit == "µs" || unit == "μs") {  // both signs for micro
    return 1e-6;
  }
  return unit == "sec" || unit == "seconds" ? 1.0 : unit_seconds(unit);
}

/// Results of one commit under construction.
struct Commit {
  ImportedResults results;
  std::map<std::string, std::size_t> places;  ///< of benchmarks, by name
};

void add_bench(const results::JsonObject& bench, const std::string& prefix, Commit& commit) {
  const std::string name = prefix + bench.text("name");
  check_imported_name(name);
  const auto unit = seconds_of(bench.text_or_empty("unit"));
  if (!unit) {
    ++commit.results.left_out;
    return;
  }
  const Seconds time = imported_time(bench.number("value") * *unit);
  std::vector<ImportedBenchmark>& benchmarks = commit.results.benchmarks;
  const auto [place, added] = commit.places.try_emplace(name, benchmarks.size());
  if (added) {
    benchmarks.emplace_back().name = name;
  }
  std::vector<Seconds>& samples = benchmarks[place->second].samples;
  if (samples.size() == results::kMaxStoredSamples) {
    refuse(fmt::format("'{}' occurs more than {} times", name, results::kMaxStoredSamples));
  }
  samples.push_back(time);
}

/// Collector of the runs of a file, by commit.
class HistoryReader {
 public:
  void add_entry(const results::JsonObject& entry,
                 const std::string& prefix,
                 std::size_t occurrence) {
    const results::JsonObject commit = entry.object("commit");
    const std::string id = commit.text("id").substr(0, kMaxImportedName);
    Commit& run = runs_[{id, occurrence}];
    ImportedResults& results = run.results;
    if (runs_.size() > kMaxImportedRuns) {
      refuse(fmt::format("more than {} commits", kMaxImportedRuns));
    }
    const Timestamp date(std::chrono::milliseconds(entry.integer("date", 0, kLastMillisecond)));
    results.started = std::min(results.started.value_or(date), date);
    results.version = id;
    results.identity["host"] = "";
    results.facts["benchmark_action.tool"] =
        entry.text_or_empty("tool").substr(0, kMaxImportedName);
    for (const nlohmann::json& bench : entry.array("benches", kMaxImportedBenchmarks)) {
      if (++values_ > kMaxImportedRows) {
        refuse(fmt::format("more than {} values", kMaxImportedRows));
      }
      add_bench(results::JsonObject(bench), prefix, run);
    }
  }

  ImportedHistory finish() {
    ImportedHistory history;
    for (auto& [commit, run] : runs_) {
      if (!run.results.benchmarks.empty()) {
        history.push_back(std::move(run.results));
      }
    }
    if (history.empty()) {
      refuse(
          fmt::format("none of {} values has a unit of time: there is nothing to import", values_));
    }
    std::stable_sort(history.begin(), history.end(), [](const auto& one, const auto& other) {
      return one.started < other.started;
    });
    return history;
  }

 private:
  std::map<std::pair<std::string, std::size_t>, Commit> runs_;
  std::size_t values_ = 0;
};

}  // namespace

ImportedHistory read_benchmark_action(std::string_view text) {
  const nlohmann::json document = results::parse_json(document_in(text));
  const results::JsonObject top(document);
  static_cast<void>(top.object("entries"));
  const nlohmann::json& suites = document.at("entries");
  HistoryReader reader;
  for (const auto& [suite, entries] : suites.items()) {
    const std::string prefix = suites.size() > 1 ? suite + "/" : "";
    std::map<std::string, std::size_t> occurrences;
    std::size_t number = 0;
    const results::JsonObject all(suites);
    for (const nlohmann::json& entry : all.array(suite.c_str(), kMaxImportedRuns)) {
      try {
        const results::JsonObject object(entry);
        const std::size_t occurrence = occurrences[object.object("commit").text("id")]++;
        reader.add_entry(object, prefix, occurrence);
      } catch (const Error& error) {
        throw Error(error.kind(),
                    fmt::format("entries/{}/{}: {}", suite.substr(0, 100), number, error.what()));
      }
      ++number;
    }
  }
  return reader.finish();
}

}  // namespace plumb::importers
