// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::importers {
namespace {

constexpr std::int64_t kMaxRepetitions = 100'000;

double unit_in(const results::JsonObject& entry) {
  const std::string& name = entry.text("time_unit");
  const auto unit = unit_seconds(name);
  if (!unit) {
    throw Error(Error::Kind::kUser,
                fmt::format("field 'time_unit' is '{}', not ns, us, ms or s", name));
  }
  return *unit;
}

/// Returns the name without the suffix of an aggregate. Absent: it has no such suffix.
std::optional<std::string> base_of(const std::string& name, const std::string& aggregate) {
  const std::string suffix = "_" + aggregate;
  return name.size() > suffix.size() && name.ends_with(suffix)
             ? std::optional(name.substr(0, name.size() - suffix.size()))
             : std::nullopt;
}

/// Returns the names of the benchmarks whose mean and deviation are entries of their own.
std::set<std::string> aggregated_names(const nlohmann::json& entries) {
  std::set<std::string> names;
  for (const nlohmann::json& entry : entries) {
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    if (entry.is_object() && name != entry.end() && name->is_string()) {
      names.insert(name->get<std::string>());
    }
  }
  std::set<std::string> bases;
  for (const std::string& name : names) {
    const auto base = base_of(name, "mean");
    if (base && names.contains(*base + "_stddev")) {
      bases.insert(*base);
    }
  }
  return bases;
}

/// Collector of a file's benchmarks, repetition by repetition.
class Reader {
 public:
  explicit Reader(const nlohmann::json& entries) : aggregated_(aggregated_names(entries)) {}

  void read_context(const results::JsonObject& context) {
    results_.identity["host"] = context.text_or_empty("host_name");
    if (context.has("num_cpus")) {
      results_.identity["cpu.count"] = std::to_string(context.integer("num_cpus", 1, 1'000'000));
    }
    if (context.has("date")) {
      read_date(context.text("date").substr(0, kMaxImportedName));
    }
    for (const char* const name :
         {"executable", "library_version", "library_build_type", "aslr_enabled"}) {
      if (context.has(name)) {
        const bool flag = std::string_view(name) == "aslr_enabled";
        results_.facts[fmt::format("benchmark.{}", name)] =
            flag ? (context.boolean(name) ? "true" : "false") : context.text(name);
      }
    }
    if (const auto clock = context.optional_number("mhz_per_cpu")) {
      results_.facts["frequency.mhz_now"] = fmt::format("{:.0f}", *clock);
    }
    if (context.has("cpu_scaling_enabled")) {
      results_.facts["cpu.scaling"] = context.boolean("cpu_scaling_enabled") ? "true" : "false";
    }
  }

  void read_entry(const results::JsonObject& entry) {
    const std::string& name = entry.text("name");
    if (entry.has("big_o") || entry.has("rms")) {
      return;  // a fit of complexity
    }
    if (entry.has("run_type") && entry.text("run_type") != "iteration") {
      const std::string aggregate = entry.text_or_empty("aggregate_name");
      const std::string base = base_of(name, aggregate).value_or(name);
      read_aggregate(entry, entry.has("run_name") ? entry.text("run_name") : base, aggregate);
      return;
    }
    if (!entry.has("run_type")) {  // before 1.4.1 only the name tells an aggregate
      for (const char* const aggregate : {"mean", "median", "stddev", "cv"}) {
        const auto base = base_of(name, aggregate);
        if (base && aggregated_.contains(*base)) {
          read_aggregate(entry, *base, aggregate);
          return;
        }
      }
    }
    read_repetition(entry, entry.has("run_name") ? entry.text("run_name") : name);
  }

  ImportedResults finish() {
    for (auto& [name, entry] : entries_) {
      finish_benchmark(results_.benchmarks[entry.index], entry);
    }
    std::erase_if(results_.benchmarks, [](const ImportedBenchmark& benchmark) {
      return benchmark.outcome.ok() && benchmark.samples.empty() && !benchmark.statistics;
    });
    if (results_.benchmarks.empty()) {
      throw Error(Error::Kind::kUser,
                  "field 'benchmarks' has no repetitions and no means: there is nothing to import");
    }
    return std::move(results_);
  }

 private:
  struct Entry {
    explicit Entry(std::size_t place) : index(place) {}
    std::size_t index;
    std::int64_t expected = 1;
    std::set<std::int64_t> seen;
    std::optional<Seconds> mean;
    std::optional<Seconds> deviation;
    std::optional<std::int64_t> aggregated;  ///< repetitions behind mean and deviation
  };

  void read_date(const std::string& date) {
    const auto read = parse_imported_date(date);
    if (!read) {
      results_.unread_date = date;
      return;
    }
    results_.started = read->time;
    if (!read->has_zone) {
      results_.facts["benchmark.date"] = date + " (without a zone, taken as UTC)";
    }
  }

  Entry& entry_of(const std::string& name) {
    check_imported_name(name);
    const auto [place, added] = entries_.try_emplace(name, results_.benchmarks.size());
    if (added) {
      results_.benchmarks.emplace_back().name = name;
    }
    return place->second;
  }

  void read_aggregate(const results::JsonObject& entry,
                      const std::string& name,
                      const std::string& aggregate) {
    if (aggregate != "mean" && aggregate != "stddev") {
      return;
    }
    Entry& known = entry_of(name);
    // Without `repetitions`, `iterations` may count those of one repetition.
    if (entry.has("repetitions")) {
      known.aggregated = entry.integer("repetitions", 1, kMaxRepetitions);
    }
    const double time = entry.number("real_time") * unit_in(entry);
    if (aggregate == "mean") {
      known.mean = imported_time(time);
    } else {
      known.deviation = time == 0.0 ? Seconds(0.0) : imported_time(time);
    }
  }

  void read_repetition(const results::JsonObject& entry, const std::string& name) {
    Entry& known = entry_of(name);
    ImportedBenchmark& benchmark = results_.benchmarks[known.index];
    const bool numbered = entry.has("repetition_index");
    const auto unnumbered = static_cast<std::int64_t>(known.seen.size());
    known.expected = entry.has("repetitions") ? entry.integer("repetitions", 1, kMaxRepetitions)
                                              : (numbered ? 1 : unnumbered + 1);
    const std::int64_t index =
        numbered ? entry.integer("repetition_index", 0, known.expected - 1) : unnumbered;
    if (!known.seen.insert(index).second) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "repetition {} of '{}' occurs twice: give each benchmark its own name", index, name));
    }
    if (read_failure(entry, benchmark)) {
      return;
    }
    const std::int64_t iterations =
        entry.has("iterations") ? entry.integer("iterations", 1, std::int64_t{1} << 50U) : 1;
    benchmark.repetitions =
        benchmark.samples.empty() ? iterations : std::min(benchmark.repetitions, iterations);
    const Seconds time = imported_time(entry.number("real_time") * unit_in(entry));
    // A whole repetition must be a plausible time too.
    static_cast<void>(imported_time(time.count() * static_cast<double>(iterations)));
    benchmark.samples.push_back(time);
  }

  /// Returns whether an entry has no time, and keeps the first reason in its benchmark.
  static bool read_failure(const results::JsonObject& entry, ImportedBenchmark& benchmark) {
    const bool failed = entry.has("error_occurred") && entry.boolean("error_occurred");
    const bool skipped = entry.has("skipped") && entry.boolean("skipped");
    if (benchmark.outcome.ok() && (failed || skipped)) {
      benchmark.outcome = {
          failed ? results::Outcome::Kind::kUnsupported : results::Outcome::Kind::kSkipped,
          entry.text_or_empty(failed ? "error_message" : "skip_message")
              .substr(0, kMaxImportedName)};
    }
    return failed || skipped;
  }

  static void finish_benchmark(ImportedBenchmark& benchmark, const Entry& entry) {
    if (!benchmark.outcome.ok()) {
      benchmark.samples.clear();
    } else if (!entry.seen.empty() &&
               entry.seen.size() != static_cast<std::size_t>(entry.expected)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' has {} of its {} repetitions: the file is not complete",
                              benchmark.name,
                              entry.seen.size(),
                              entry.expected));
    } else if (entry.seen.empty() && entry.mean) {
      benchmark.statistics = {.n = static_cast<std::size_t>(entry.aggregated.value_or(1)),
                              .mean = *entry.mean,
                              .deviation = {},
                              .min = {}};
      if (entry.deviation && benchmark.statistics->n > 1) {
        benchmark.statistics->deviation = entry.deviation;
      }
    }
  }

  std::set<std::string> aggregated_;
  ImportedResults results_;
  std::map<std::string, Entry> entries_;
};

}  // namespace

ImportedResults read_google_benchmark(std::string_view text) {
  const nlohmann::json document = results::parse_json(text);
  const results::JsonObject top(document);
  const nlohmann::json& entries = top.array("benchmarks", kMaxImportedBenchmarks);
  Reader reader(entries);
  static const nlohmann::json nothing = nlohmann::json::object();
  reader.read_context(top.has("context") ? top.object("context") : results::JsonObject(nothing));
  std::size_t number = 0;
  for (const nlohmann::json& entry : entries) {
    try {
      reader.read_entry(results::JsonObject(entry));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("benchmarks/{}: {}", number, error.what()));
    }
    ++number;
  }
  return reader.finish();
}

}  // namespace plumb::importers
