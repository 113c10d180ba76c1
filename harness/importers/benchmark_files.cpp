// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/measurement.hpp"

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
    std::erase_if(results_.benchmarks, [](const ImportedResults::Benchmark& benchmark) {
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
    ImportedResults::Benchmark& benchmark = results_.benchmarks[known.index];
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
  static bool read_failure(const results::JsonObject& entry,
                           ImportedResults::Benchmark& benchmark) {
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

  static void finish_benchmark(ImportedResults::Benchmark& benchmark, const Entry& entry) {
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

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxValues = 1000;  // devices, summaries of a state, values of a summary

/// Reads a number that may be a text: NVBench writes as text what JSON cannot keep exactly. Absent:
/// null or not finite, which NVBench writes for too few samples.
std::optional<double> number_in(const Json& value) {
  double number = 0.0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) {
      refuse(fmt::format("'{}' is not a number", text.substr(0, kMaxImportedName)));
    }
  } else if (!value.is_null()) {
    refuse("a value is not a number");
  }
  return value.is_null() || !std::isfinite(number) ? std::nullopt : std::optional(number);
}

/// Summaries of a state by tag, with the values of each summary by name.
class Summaries {
 public:
  explicit Summaries(const results::JsonObject& state) {
    if (!state.has("summaries")) {
      return;
    }
    for (const Json& entry : state.array("summaries", kMaxValues)) {
      const results::JsonObject summary(entry);
      std::map<std::string, Json>& values = by_tag_[summary.text("tag")];
      if (!summary.has("data")) {
        continue;
      }
      for (const Json& value : summary.array("data", kMaxValues)) {
        const results::JsonObject named(value);
        values[named.text("name")] = value.value("value", Json());
      }
    }
  }

  [[nodiscard]] const Json* find(const std::string& tag, const char* name) const {
    const auto summary = by_tag_.find(tag);
    if (summary == by_tag_.end()) {
      return nullptr;
    }
    const auto value = summary->second.find(name);
    return value == summary->second.end() ? nullptr : &value->second;
  }

  [[nodiscard]] std::optional<double> number(const std::string& tag) const {
    const Json* const value = find(tag, "value");
    return value == nullptr ? std::nullopt : number_in(*value);
  }

  [[nodiscard]] std::optional<Seconds> time(const std::string& tag) const {
    const auto value = number(tag);
    return value ? std::optional(imported_time(*value)) : std::nullopt;
  }

  [[nodiscard]] std::size_t count(const std::optional<double>& value, const char* of) const {
    if (!value || *value < 1.0 || *value > static_cast<double>(results::kMaxStoredSamples) ||
        *value != std::floor(*value)) {
      refuse(fmt::format(
          "the number of {} is not an integer from 1 to {}", of, results::kMaxStoredSamples));
    }
    return static_cast<std::size_t>(*value);
  }

 private:
  std::map<std::string, std::map<std::string, Json>> by_tag_;
};

std::vector<Seconds> samples_in(const std::string& bytes, std::size_t count) {
  static_assert(std::endian::native == std::endian::little);
  if (bytes.size() != count * sizeof(float)) {
    refuse(fmt::format("its sample file has {} bytes, not the {} of {} samples",
                       bytes.size(),
                       count * sizeof(float),
                       count));
  }
  std::vector<Seconds> samples;
  samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    float value = 0.0F;
    std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
    samples.push_back(imported_time(value));
  }
  return samples;
}

void read_times(const Summaries& summaries,
                const ReadSampleFile& read_file,
                ImportedResults::Benchmark& out) {
  const std::string samples = "nv/json/bin:nv/cold/sample_times";
  if (const Json* const file = summaries.find(samples, "filename"); file != nullptr) {
    const Json* const size = summaries.find(samples, "size");
    if (!file->is_string() || size == nullptr) {
      refuse("a sample file is named without its path or size");
    }
    const std::size_t count = summaries.count(number_in(*size), "samples in its file");
    out.samples =
        samples_in(read_file(file->get_ref<const std::string&>(), count * sizeof(float)), count);
    return;
  }
  for (const auto& [group, clock] : {std::pair{"nv/cold", "gpu"}, {"nv/cpu_only", "cpu"}}) {
    const std::string times = fmt::format("{}/time/{}/", group, clock);
    if (const auto mean = summaries.time(times + "mean")) {
      const auto count = summaries.number(fmt::format("{}/sample_size", group));
      out.statistics = {.n = summaries.count(count, "samples"),
                        .mean = *mean,
                        .deviation = {},
                        .min = summaries.time(times + "min")};
      const auto relative = summaries.number(times + "stdev/relative");
      if (relative && *relative >= 0.0 && out.statistics->n > 1) {
        const Seconds deviation = *mean * *relative;
        out.statistics->deviation =
            deviation > Seconds(0.0) ? imported_time(deviation.count()) : Seconds(0.0);
      }
      return;
    }
  }
  refuse("no time of isolated launches ('nv/cold/time/gpu/mean') or of the CPU");
}

void read_state(const results::JsonObject& state,
                const std::string& benchmark,
                const ReadSampleFile& read_file,
                ImportedResults::Benchmark& out) {
  out.name = benchmark + " " + state.text("name");
  check_imported_name(out.name);
  if (state.has("is_skipped") && state.boolean("is_skipped")) {
    out.outcome = {results::Outcome::Kind::kSkipped,
                   state.text_or_empty("skip_reason").substr(0, kMaxImportedName)};
    return;
  }
  read_times(Summaries(state), read_file, out);
}

/// Returns the names of the devices by id, and adds their properties to `facts`.
std::map<std::int64_t, std::string> devices_in(const results::JsonObject& top,
                                               results::Facts& facts) {
  std::map<std::int64_t, std::string> names;
  if (!top.has("devices")) {
    return names;
  }
  for (const Json& entry : top.array("devices", kMaxValues)) {
    const results::JsonObject device(entry);
    const std::int64_t id = device.integer("id", 0, kMaxValues);
    names[id] = device.text("name").substr(0, kMaxImportedName);
    for (const char* const fact : {"sm_version", "sm_default_clock_rate", "global_memory_size"}) {
      if (device.has(fact)) {
        facts[fmt::format("gpu.{}.{}", id, fact)] =
            std::to_string(device.integer(fact, 0, results::JsonObject::kHighest));
      }
    }
  }
  return names;
}

}  // namespace

ImportedResults read_nvbench(std::string_view text, const ReadSampleFile& read_file) {
  const Json document = results::parse_json(text);
  const results::JsonObject top(document);
  ImportedResults results;
  if (top.has("meta") && top.object("meta").has("version")) {
    const results::JsonObject version = top.object("meta").object("version");
    results.facts["benchmark.library_version"] =
        version.has("nvbench") ? version.object("nvbench").text_or_empty("string") : "";
  }
  const std::map<std::int64_t, std::string> devices = devices_in(top, results.facts);
  std::set<std::string> names;
  std::set<std::string> used;
  std::size_t benchmark_number = 0;
  for (const Json& entry : top.array("benchmarks", kMaxImportedBenchmarks)) {
    std::size_t state_number = 0;
    try {
      const results::JsonObject benchmark(entry);
      const std::string& name = benchmark.text("name");
      if (benchmark.has("states")) {
        for (const Json& state_entry : benchmark.array("states", kMaxImportedBenchmarks)) {
          const results::JsonObject state(state_entry);
          ImportedResults::Benchmark& out = results.benchmarks.emplace_back();
          read_state(state, name, read_file, out);
          if (!names.insert(out.name).second) {
            refuse(fmt::format("'{}' occurs twice", out.name));
          }
          if (results.benchmarks.size() > kMaxImportedBenchmarks) {
            refuse(fmt::format("more than {} states", kMaxImportedBenchmarks));
          }
          if (state.has("device")) {
            const auto device = devices.find(state.integer("device", 0, kMaxValues));
            used.insert(device == devices.end() ? "unknown" : device->second);
          }
          ++state_number;
        }
      }
    } catch (const Error& error) {
      throw Error(
          error.kind(),
          fmt::format("benchmarks/{}/states/{}: {}", benchmark_number, state_number, error.what()));
    }
    ++benchmark_number;
  }
  if (results.benchmarks.empty()) {
    refuse("field 'benchmarks' has no states");
  }
  results.identity["gpu.model"] = fmt::format("{}", fmt::join(used, ", "));
  return results;
}

}  // namespace plumb::importers
