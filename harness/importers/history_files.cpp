// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::importers {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxParameters = 32;
constexpr std::size_t kMaxColumns = 100;
constexpr const char* kNotANumber = "NaN";

/// Puts the numbers that Python writes and JSON does not have into quotes: NaN, Infinity.
std::string quote_special_numbers(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    std::string_view special;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!in_text && rest.starts_with(word)) {
        special = word;
      }
    }
    if (!special.empty()) {
      quoted += fmt::format("\"{}\"", special);
      i += special.size() - 1;
      continue;
    }
    if (in_text && text[i] == '\\' && i + 1 < text.size()) {
      quoted += text[i++];
    } else if (text[i] == '"') {
      in_text = !in_text;
    }
    quoted += text[i];
  }
  return quoted;
}

bool is_time(const std::string& name) {
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  for (const std::string_view prefix : {"time_", "timeraw_", "Time_", "Timeraw_"}) {
    if (last.starts_with(prefix)) {
      return true;
    }
  }
  return last.starts_with("Time") && last.size() > 4 && last[4] >= 'A' && last[4] <= 'Z';
}

/// Columns of one benchmark, by name. A column may be absent, as those at the end are.
class BenchmarkColumns {
 public:
  BenchmarkColumns(const std::vector<std::string>& names, const Json& values) {
    if (!values.is_array() || values.size() > names.size()) {
      refuse("its columns are not an array of at most the length of 'result_columns'");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      columns_[names[i]] = &values[i];
    }
  }

  /// Returns the element of a column for one combination of parameters. Null: there is none.
  [[nodiscard]] const Json& at(const char* column, std::size_t combination) const {
    static const Json nothing;
    const Json& values = all(column);
    return values.is_array() && combination < values.size() ? values[combination] : nothing;
  }

  [[nodiscard]] std::optional<double> number(const char* column, std::size_t combination) const {
    const Json& value = at(column, combination);
    return value.is_number() && std::isfinite(value.get<double>())
               ? std::optional(value.get<double>())
               : std::nullopt;
  }

  [[nodiscard]] const Json& all(const char* column) const {
    static const Json nothing;
    const auto found = columns_.find(column);
    return found == columns_.end() ? nothing : *found->second;
  }

 private:
  std::map<std::string, const Json*> columns_;
};

/// Returns a text for each combination of parameters, in asv's order: the last one changes first.
std::vector<std::string> list_combinations(const Json& parameters) {
  std::vector<std::string> combinations{""};
  if (!parameters.is_array() || parameters.size() > kMaxParameters) {
    return combinations;
  }
  for (const Json& values : parameters) {
    std::vector<std::string> longer;
    for (const std::string& before : combinations) {
      for (const Json& value : values) {
        if (!value.is_string() || longer.size() == kMaxImportedBenchmarks) {
          refuse(fmt::format("its parameters are not texts, or have more than {} combinations",
                             kMaxImportedBenchmarks));
        }
        longer.push_back(before + (before.empty() ? "" : ", ") + value.get<std::string>());
        if (longer.back().size() > kMaxImportedName) {
          refuse(fmt::format("its parameters are longer than {} bytes", kMaxImportedName));
        }
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

/// Returns n of statistics, as asv counts it: samples, each of `stats_number` executions.
std::size_t count_of(const BenchmarkColumns& columns, std::size_t i) {
  const double repeat = columns.number("stats_repeat", i).value_or(1.0);
  return repeat >= 1.0 && repeat <= static_cast<double>(results::kMaxStoredSamples)
             ? static_cast<std::size_t>(repeat)
             : 1;
}

void read_times(const BenchmarkColumns& columns,
                std::size_t i,
                ImportedResults::Benchmark& benchmark) {
  const Json& result = columns.at("result", i);
  if (result.is_null()) {
    benchmark.outcome = {results::Outcome::Kind::kUnsupported, "it failed in asv"};
    return;
  }
  if (result == kNotANumber) {
    benchmark.outcome = {results::Outcome::Kind::kSkipped, "asv skipped it"};
    return;
  }
  if (!result.is_number()) {
    refuse("its result is not a number");
  }
  const double executions = columns.number("stats_number", i).value_or(1.0);
  benchmark.repetitions =
      executions >= 1.0 && executions < 1e12 ? static_cast<std::int64_t>(executions) : 1;
  const Json& samples = columns.at("samples", i);
  if (samples.is_array() && !samples.empty()) {
    if (samples.size() > results::kMaxStoredSamples) {
      refuse(fmt::format(
          "{} samples: at most {} are read", samples.size(), results::kMaxStoredSamples));
    }
    for (const Json& sample : samples) {
      const Seconds time = imported_time(
          sample.is_number() ? sample.get<double>() : std::numeric_limits<double>::quiet_NaN());
      // A whole sample must be a plausible time too.
      static_cast<void>(imported_time(time.count() * static_cast<double>(benchmark.repetitions)));
      benchmark.samples.push_back(time);
    }
    return;
  }
  const Seconds median = imported_time(result.get<double>());
  benchmark.statistics = {.n = count_of(columns, i), .mean = median, .deviation = {}, .min = {}};
  const auto low = columns.number("stats_ci_99_a", i);
  const auto high = columns.number("stats_ci_99_b", i);
  if (low && high && benchmark.statistics->n > 1 && *low <= *high && *low >= 0.0) {
    benchmark.statistics->interval = {Seconds(*low), imported_time(*high)};
  }
}

void read_benchmark(const std::string& name,
                    const BenchmarkColumns& columns,
                    ImportedResults& results) {
  const std::vector<std::string> combinations = list_combinations(columns.all("params"));
  const Json& all = columns.all("result");
  if (!all.is_null() && (!all.is_array() || all.size() != combinations.size())) {
    refuse(
        fmt::format("its result is not an array of {} values, one for each combination of "
                    "parameters",
                    combinations.size()));
  }
  if (!is_time(name)) {
    results.left_out += combinations.size();
    return;
  }
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    if (results.benchmarks.size() == kMaxImportedBenchmarks) {
      refuse(fmt::format("more than {} benchmarks", kMaxImportedBenchmarks));
    }
    ImportedResults::Benchmark& benchmark = results.benchmarks.emplace_back();
    benchmark.name = combinations[i].empty() ? name : fmt::format("{}({})", name, combinations[i]);
    check_imported_name(benchmark.name);
    read_times(columns, i, benchmark);
  }
}

void read_machine(const results::JsonObject& top, ImportedResults& results) {
  results.identity["host"] = "";
  if (top.has("params")) {
    const results::JsonObject machine = top.object("params");
    results.identity["host"] = machine.text_or_empty("machine").substr(0, kMaxImportedName);
    for (const char* const fact : {"num_cpu", "cpu", "os"}) {
      if (const std::string text = machine.text_or_empty(fact); !text.empty()) {
        const bool processors = std::string_view(fact) == "num_cpu";
        (processors ? results.identity["cpu.count"] : results.facts[fmt::format("asv.{}", fact)]) =
            text.substr(0, kMaxImportedName);
      }
    }
  }
  for (const char* const fact : {"env_name", "python"}) {
    if (top.has(fact)) {
      results.facts[fmt::format("asv.{}", fact)] = top.text(fact).substr(0, kMaxImportedName);
    }
  }
}

}  // namespace

ImportedResults read_asv(std::string_view text) {
  const Json document = results::parse_json(quote_special_numbers(text));
  const results::JsonObject top(document);
  if (!top.has("result_columns")) {
    refuse("field 'result_columns' is missing: results of asv have it from version 2 (asv 0.4)");
  }
  const std::vector<std::string> columns = top.texts("result_columns", kMaxColumns);
  ImportedResults results;
  read_machine(top, results);
  results.version = top.text_or_empty("commit_hash").substr(0, kMaxImportedName);
  results.started = Timestamp(std::chrono::milliseconds(top.integer("date", 0, kLastMillisecond)));
  static_cast<void>(top.object("results"));
  for (const auto& [name, values] : document.at("results").items()) {
    try {
      read_benchmark(name, BenchmarkColumns(columns, values), results);
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("results/{}: {}", name.substr(0, kMaxImportedName), error.what()));
    }
  }
  if (results.benchmarks.empty()) {
    refuse(
        fmt::format("none of {} values is a time: names of asv's time benchmarks begin with time_",
                    results.left_out));
  }
  return results;
}

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
  std::vector<ImportedResults::Benchmark>& benchmarks = commit.results.benchmarks;
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
