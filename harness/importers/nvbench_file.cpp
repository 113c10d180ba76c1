// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "harness/base/error.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/sample_codec.hpp"

namespace plumb::importers {
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
                ImportedBenchmark& out) {
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
                ImportedBenchmark& out) {
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
          ImportedBenchmark& out = results.benchmarks.emplace_back();
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
