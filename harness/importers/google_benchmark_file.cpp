// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/google_benchmark_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMaxRepetitions = 100'000;
constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};

double unit_in(const JsonObject& entry) {
  const std::string& name = entry.text("time_unit");
  const auto* const unit = std::find_if(
      kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.first == name; });
  if (unit == kUnits.end()) {
    throw Error(Error::Kind::kUser,
                fmt::format("field 'time_unit' is '{}', not ns, us, ms or s", name));
  }
  return unit->second;
}

/// Parses an RFC 3339 time with an offset from UTC, which is how the library writes local time.
Timestamp local_time(const std::string& text) {
  constexpr std::size_t kOffset = 6;  // +01:00
  const char sign = text.size() > kOffset ? text[text.size() - kOffset] : 'Z';
  if (sign != '+' && sign != '-') {
    return parse_timestamp(text);
  }
  const std::string offset = text.substr(text.size() - kOffset + 1);
  const std::chrono::microseconds away =
      parse_timestamp("1970-01-01T" + offset + ":00Z").time_since_epoch();
  const Timestamp local = parse_timestamp(text.substr(0, text.size() - kOffset) + "Z");
  return sign == '+' ? local - away : local + away;
}

/// Collector of a file's benchmarks, repetition by repetition.
class Reader {
 public:
  void read_context(const JsonObject& context) {
    results_.identity["host"] = context.text_or_empty("host_name");
    results_.identity["cpu.count"] = std::to_string(context.integer("num_cpus", 1, 1'000'000));
    if (context.has("date")) {
      results_.started = local_time(context.text("date"));
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

  void read_entry(const JsonObject& entry) {
    if (!entry.has("run_type")) {
      throw Error(Error::Kind::kUser,
                  "field 'run_type' is missing: Google Benchmark 1.5 or later writes it");
    }
    if (entry.text("run_type") != "iteration") {
      return;
    }
    const std::string& name = entry.has("run_name") ? entry.text("run_name") : entry.text("name");
    check_imported_name(name);
    const auto [place, added] = entries_.try_emplace(name, results_.benchmarks.size());
    if (added) {
      results_.benchmarks.emplace_back().name = name;
    }
    Entry& known = place->second;
    ImportedBenchmark& benchmark = results_.benchmarks[known.index];
    const std::int64_t expected =
        entry.has("repetitions") ? entry.integer("repetitions", 1, kMaxRepetitions) : 1;
    const std::int64_t index =
        entry.has("repetition_index") ? entry.integer("repetition_index", 0, expected - 1) : 0;
    if (!known.seen.insert(index).second) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("repetition {} of '{}' comes twice: give each its own name", index, name));
    }
    known.expected = expected;
    if (read_failure(entry, benchmark)) {
      return;
    }
    const std::int64_t iterations = entry.integer("iterations", 1, std::int64_t{1} << 50U);
    benchmark.repetitions =
        benchmark.samples.empty() ? iterations : std::min(benchmark.repetitions, iterations);
    const Seconds time = imported_time(entry.number("real_time") * unit_in(entry));
    // A whole repetition must be a plausible time too.
    static_cast<void>(imported_time(time.count() * static_cast<double>(iterations)));
    benchmark.samples.push_back(time);
  }

  ImportedResults finish() {
    if (results_.benchmarks.empty()) {
      throw Error(Error::Kind::kUser,
                  "field 'benchmarks' has no single repetitions: measure without "
                  "--benchmark_report_aggregates_only");
    }
    for (ImportedBenchmark& benchmark : results_.benchmarks) {
      const Entry& entry = entries_.at(benchmark.name);
      if (!benchmark.outcome.ok()) {
        benchmark.samples.clear();
      } else if (entry.seen.size() != static_cast<std::size_t>(entry.expected)) {
        throw Error(Error::Kind::kUser,
                    fmt::format("'{}' has {} of its {} repetitions: the file is not whole",
                                benchmark.name,
                                entry.seen.size(),
                                entry.expected));
      }
    }
    return std::move(results_);
  }

 private:
  struct Entry {
    explicit Entry(std::size_t place) : index(place) {}
    std::size_t index;
    std::int64_t expected = 1;
    std::set<std::int64_t> seen;
  };

  /// Returns whether an entry has no time, and keeps the first reason in its benchmark.
  static bool read_failure(const JsonObject& entry, ImportedBenchmark& benchmark) {
    const bool failed = entry.has("error_occurred") && entry.boolean("error_occurred");
    const bool skipped = entry.has("skipped") && entry.boolean("skipped");
    if (benchmark.outcome.ok() && (failed || skipped)) {
      benchmark.outcome = {failed ? Outcome::Kind::kUnsupported : Outcome::Kind::kSkipped,
                           entry.text_or_empty(failed ? "error_message" : "skip_message")
                               .substr(0, kMaxImportedName)};
    }
    return failed || skipped;
  }

  ImportedResults results_;
  std::map<std::string, Entry> entries_;
};

}  // namespace

ImportedResults read_google_benchmark(std::string_view text) {
  const nlohmann::json document = parse_json(text);
  const JsonObject top(document);
  Reader reader;
  reader.read_context(top.object("context"));
  std::size_t number = 0;
  for (const nlohmann::json& entry : top.array("benchmarks", kMaxImportedBenchmarks)) {
    try {
      reader.read_entry(JsonObject(entry));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("benchmarks/{}: {}", number, error.what()));
    }
    ++number;
  }
  return reader.finish();
}

}  // namespace plumb
