// SPDX-License-Identifier: Apache-2.0
#include "harness/results/results_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/results/disturbance_json.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/sample_codec.hpp"

namespace plumb::results {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A result with NaN or infinity in it is infinitely wrong, which JSON cannot express.
json error_value(const std::optional<double>& error) {
  if (error && !std::isfinite(*error)) {
    return "inf";
  }
  return or_null(error);
}

std::optional<double> error_from(const json& value, const JsonObject& object) {
  const auto found = value.find("maximum_error");
  if (found != value.end() && found->is_string() && *found == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  return object.optional_number("maximum_error");
}

json to_value(const measure::SampleSummary& summary) {
  return {{"n", summary.n},
          {"median_seconds", summary.median.count()},
          {"low_seconds", summary.interval.low.count()},
          {"high_seconds", summary.interval.high.count()},
          {"min_seconds", summary.min.count()},
          {"p90_seconds", summary.p90.count()},
          {"mean_seconds", summary.mean.count()},
          {"min_has_company", summary.min_has_company}};
}

measure::SampleSummary summary_from(const JsonObject& object) {
  measure::SampleSummary summary;
  summary.n = static_cast<std::size_t>(object.integer("n", 0, JsonObject::kHighest));
  summary.median = object.seconds("median_seconds");
  summary.interval = {object.seconds("low_seconds"), object.seconds("high_seconds")};
  summary.min = object.seconds("min_seconds");
  summary.p90 = object.seconds("p90_seconds");
  summary.mean = object.seconds("mean_seconds");
  summary.min_has_company = object.boolean("min_has_company");
  return summary;
}

template <typename Value>
Value known(std::optional<Value> value, const char* name, const std::string& text) {
  if (!value) {
    throw Error(Error::Kind::kUser,
                fmt::format("field '{}' has the unknown value '{}'", name, text));
  }
  return *value;
}

std::vector<Seconds> samples_from(const JsonObject& object) {
  std::vector<Seconds> samples;
  for (const json& sample : object.array("samples_seconds", kMaxStoredSamples)) {
    if (!sample.is_number() || !std::isfinite(sample.get<double>())) {
      throw Error(Error::Kind::kUser,
                  "field 'samples_seconds' has an element that is not a number");
    }
    samples.emplace_back(sample.get<double>());
  }
  return samples;
}

json readings_value(const Readings& readings) {
  json value = json::object();
  for (const auto& [name, reading] : readings) {
    value[name] = {
        {"median", reading.median}, {"low", reading.low}, {"high", reading.high}, {"n", reading.n}};
  }
  return value;
}

void check_names(const char* field, const json& value) {
  if (!value.is_object() || value.size() > kMaxAttributes) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("field '{}' is not an object of at most {} elements", field, kMaxAttributes));
  }
  for (const auto& [name, ignored] : value.items()) {
    if (!is_attribute_name(name)) {
      throw Error(Error::Kind::kUser, fmt::format("field '{}' has an invalid name", field));
    }
  }
}

Attributes read_attributes(const json& value) {
  check_names("attributes", value);
  Attributes attributes;
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > kMaxAttributeText) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "the attribute '{}' is not a text of at most {} bytes", name, kMaxAttributeText));
    }
    attributes.emplace(name, text.get<std::string>());
  }
  return attributes;
}

Readings read_readings(const json& value) {
  check_names("readings", value);
  Readings readings;
  for (const auto& [name, reading] : value.items()) {
    const JsonObject object(reading);
    readings[name] = {object.number("median"),
                      object.number("low"),
                      object.number("high"),
                      object.integer("n", 1, JsonObject::kHighest)};
  }
  return readings;
}

json to_value(const Environment& environment) {
  return {{"identity", environment.identity}, {"facts", environment.facts}};
}

Environment environment_from(const JsonObject& object) {
  return {object.facts("identity"), object.facts("facts")};
}

}  // namespace

std::string to_json(const Measurement& row) {
  json samples = json::array();
  for (const Seconds sample : row.samples) {
    samples.push_back(sample.count());
  }
  json value({{"key", row.key.text},
              {"variant", row.variant},
              {"library_choice", row.library_choice},
              {"reference_implementation", row.reference_implementation},
              {"cache", to_text(row.cache)},
              {"purpose", to_text(row.purpose)},
              {"outcome", to_text(row.outcome.kind)},
              {"reason", row.outcome.reason},
              {"samples_seconds", std::move(samples)},
              {"repetitions", row.repetitions},
              {"summary", to_value(row.summary)},
              {"floor_seconds", row.floor.count()},
              {"creation_seconds", or_null(row.creation)},
              {"first_call_seconds", or_null(row.first_call)},
              {"reorder_seconds", or_null(row.reorder)},
              {"workspace_bytes", row.workspace.value},
              {"maximum_error", error_value(row.maximum_error)},
              {"output_hash", row.output_hash},
              {"disturbance", disturbance_json(row.disturbance)},
              {"attempt", row.attempt},
              {"process", row.process},
              {"started", plumb::to_text(row.started)},
              {"wall_seconds", row.wall.count()}});
  if (!row.attributes.empty()) {
    value["attributes"] = row.attributes;
  }
  if (!row.readings.empty()) {
    value["readings"] = readings_value(row.readings);
  }
  return dump(value);
}

std::string to_json(const Attributes& attributes) {
  return dump(attributes);
}

Attributes attributes_from_json(std::string_view text) {
  return read_attributes(parse_json(text));
}

std::string to_json(const Readings& readings) {
  return dump(readings_value(readings));
}

Readings readings_from_json(std::string_view text) {
  return read_readings(parse_json(text));
}

Measurement measurement_from_json(std::string_view text) {
  const json value = parse_json(text);
  const JsonObject object(value);
  Measurement row;
  row.key.text = object.text("key");
  row.variant = object.text("variant");
  row.library_choice = object.boolean("library_choice");
  row.reference_implementation = object.boolean("reference_implementation");
  row.cache = known(parse_cache_mode(object.text("cache")), "cache", object.text("cache"));
  row.purpose = known(parse_purpose(object.text("purpose")), "purpose", object.text("purpose"));
  row.outcome.kind =
      known(parse_outcome_kind(object.text("outcome")), "outcome", object.text("outcome"));
  row.outcome.reason = object.text("reason");
  row.samples = samples_from(object);
  row.repetitions = object.integer("repetitions", 1, JsonObject::kHighest);
  row.summary = summary_from(object.object("summary"));
  row.floor = object.seconds("floor_seconds");
  row.creation = object.optional_seconds("creation_seconds");
  row.first_call = object.optional_seconds("first_call_seconds");
  row.reorder = object.optional_seconds("reorder_seconds");
  row.workspace.value = object.integer("workspace_bytes", 0, JsonObject::kHighest);
  row.maximum_error = error_from(value, object);
  row.output_hash = object.text("output_hash");
  row.disturbance = disturbance_from(object.object("disturbance"));
  row.attempt = object.integer("attempt", 0, JsonObject::kHighest);
  row.process = object.integer("process", 0, JsonObject::kHighest);
  row.started = object.time("started");
  row.wall = object.seconds("wall_seconds");
  if (object.has("attributes")) {
    row.attributes = read_attributes(value["attributes"]);
  }
  if (object.has("readings")) {
    row.readings = read_readings(value["readings"]);
  }
  return row;
}

std::string to_json(const Environment& environment) {
  return dump(to_value(environment));
}

Environment environment_from_json(std::string_view text) {
  const json value = parse_json(text);
  return environment_from(JsonObject(value));
}

std::string to_json(const RunHeader& header) {
  return dump({{"id", header.id},
               {"suite", header.suite},
               {"suite_hash", header.suite_hash},
               {"resolved_suite", header.resolved_suite},
               {"backend", header.backend},
               {"stack", header.stack},
               {"environment", to_value(header.environment)},
               {"shard", header.shard},
               {"command", header.command},
               {"started", plumb::to_text(header.started)}});
}

RunHeader run_header_from_json(std::string_view text) {
  const json value = parse_json(text);
  const JsonObject object(value);
  RunHeader header;
  header.id = object.text("id");
  header.suite = object.text("suite");
  header.suite_hash = object.text("suite_hash");
  header.resolved_suite = object.text("resolved_suite");
  header.backend = object.text("backend");
  header.stack = object.text("stack");
  header.environment = environment_from(object.object("environment"));
  header.shard = object.text("shard");
  header.command = object.texts("command", 10'000);
  header.started = object.time("started");
  return header;
}

std::string to_json(const Calibration& calibration) {
  const auto known = [](const std::optional<FlopsPerSecond>& rate) {
    return rate ? json(rate->value) : json();  // Null where unknown.
  };
  return dump({{"peak_f32_flops_per_second", calibration.peak_f32.value},
               {"peak_bf16_flops_per_second", calibration.peak_bf16.value},
               {"memory_bandwidth_bytes_per_second", calibration.memory_bandwidth.value},
               {"last_level_cache_bytes", calibration.last_level_cache.value},
               {"floor_seconds", calibration.floor.count()},
               {"timer_tick_seconds", calibration.timer_tick.count()},
               {"parallel_efficiency", calibration.parallel_efficiency},
               {"theoretical_f32_flops_per_second", known(calibration.theoretical_f32)},
               {"peak_f16_flops_per_second", known(calibration.peak_f16)},
               {"peak_tf32_flops_per_second", known(calibration.peak_tf32)},
               {"peak_int8_operations_per_second", known(calibration.peak_int8)}});
}

Calibration calibration_from_json(std::string_view text) {
  const json value = parse_json(text);
  const JsonObject object(value);
  Calibration calibration;
  calibration.peak_f32.value = object.number("peak_f32_flops_per_second");
  calibration.peak_bf16.value = object.number("peak_bf16_flops_per_second");
  calibration.memory_bandwidth.value = object.number("memory_bandwidth_bytes_per_second");
  calibration.last_level_cache.value =
      object.integer("last_level_cache_bytes", 0, JsonObject::kHighest);
  calibration.floor = object.seconds("floor_seconds");
  calibration.timer_tick = object.seconds("timer_tick_seconds");
  calibration.parallel_efficiency = object.number("parallel_efficiency");
  if (const auto theoretical = object.optional_number("theoretical_f32_flops_per_second")) {
    calibration.theoretical_f32 = FlopsPerSecond{*theoretical};
  }
  // Calibrations of earlier versions lack what follows: unknown.
  const auto peak = [&](const char* name) {
    const auto number = object.optional_number(name);
    return number ? std::optional(FlopsPerSecond{*number}) : std::nullopt;
  };
  calibration.peak_f16 = peak("peak_f16_flops_per_second");
  calibration.peak_tf32 = peak("peak_tf32_flops_per_second");
  calibration.peak_int8 = peak("peak_int8_operations_per_second");
  return calibration;
}

}  // namespace plumb::results
