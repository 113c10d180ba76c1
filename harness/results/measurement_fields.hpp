// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/loadgen/load_settings.hpp"
#include "harness/results/json_fields.hpp"
#include "harness/results/measurement.hpp"

/// Fields of a row, for all documents that hold one, and of a requested load, for results and for
/// requests. For .cpp files only, as json_object.hpp.
namespace plumb::results {

/// Returns an error's value. JSON cannot express that of a result with NaN or infinity in it, which
/// is infinitely wrong: it is the text "inf".
[[nodiscard]] nlohmann::json error_value(const std::optional<double>& error);
/// Reads what error_value() returned. Throws Error{kUser}.
[[nodiscard]] std::optional<double> error_from(const nlohmann::json& value, const char* name);
/// Reads bounded texts by name. Throws Error{kUser} that says what is wrong.
[[nodiscard]] Attributes attributes_from(const nlohmann::json& value);
[[nodiscard]] nlohmann::json readings_value(const Readings& readings);
/// Reads bounded readings by name. Throws Error{kUser} that says what is wrong.
[[nodiscard]] Readings readings_from(const nlohmann::json& value);

/// Limits of the text of a layer key.
inline constexpr FieldLimits kKeyText{.longest = std::size_t{64} << 10U};

template <typename Fields>
void describe(Fields& fields, Described<Fields, measure::Disturbance>& value) {
  // Ratios of counters that are read at different moments may slightly exceed 1. A load without its
  // own thread may be below 0.
  constexpr FieldLimits kRatio{.least = -1e3, .most = 1e3};
  fields("involuntary_switches", value.involuntary_switches);
  fields("steal_ratio", value.steal_ratio, kRatio);
  fields("load", value.load, {.least = -1e6, .most = 1e6});
  fields("pressure_ratio", value.pressure_ratio, kRatio);
  fields("disturbed", value.disturbed);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, measure::SampleSummary>& value) {
  fields("n", value.n);
  fields("median_seconds", value.median, kMeasuredTime);
  fields("low_seconds", value.interval.low, kMeasuredTime);
  fields("high_seconds", value.interval.high, kMeasuredTime);
  fields("min_seconds", value.min, kMeasuredTime);
  fields("p90_seconds", value.p90, kMeasuredTime);
  fields("mean_seconds", value.mean, kMeasuredTime);
  fields("min_has_company", value.min_has_company);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Measurement>& value) {
  constexpr FieldLimits kSamples{
      .least = kMeasuredTime.least, .most = kMeasuredTime.most, .elements = kMaxStoredSamples};
  fields("key", value.key.text, kKeyText);
  fields("variant", value.variant);
  fields("library_choice", value.library_choice);
  fields("reference_implementation", value.reference_implementation);
  fields("cache", value.cache, parse_cache_mode);
  fields("purpose", value.purpose, parse_purpose);
  fields("outcome", value.outcome.kind, parse_outcome_kind);
  fields("reason", value.outcome.reason);
  fields("samples_seconds", value.samples, kSamples);
  fields("repetitions", value.repetitions, {.low = 1});
  fields("summary", value.summary);
  fields("floor_seconds", value.floor, kMeasuredTime);
  fields("creation_seconds", value.creation, kMeasuredTime);
  fields("first_call_seconds", value.first_call, kMeasuredTime);
  fields("reorder_seconds", value.reorder, kMeasuredTime);
  fields("workspace_bytes", value.workspace);
  fields.converted("maximum_error", value.maximum_error, error_value, error_from);
  fields("output_hash", value.output_hash);
  fields("disturbance", value.disturbance);
  fields("attempt", value.attempt, {.low = 1});
  fields("process", value.process);
  fields("started", value.started);
  fields("wall_seconds", value.wall, kMeasuredTime);
  fields.unless_empty(
      "attributes",
      value.attributes,
      [](const Attributes& attributes) { return nlohmann::json(attributes); },
      attributes_from);
  fields.unless_empty("readings", value.readings, readings_value, readings_from);
}

/// Words of a load.
inline constexpr std::array kLoadScenarios{loadgen::RequestedLoad::Scenario::kSingleStream,
                                           loadgen::RequestedLoad::Scenario::kMultiStream,
                                           loadgen::RequestedLoad::Scenario::kServer,
                                           loadgen::RequestedLoad::Scenario::kOffline};
inline constexpr std::array kLoadModes{loadgen::RequestedLoad::Mode::kPerformance,
                                       loadgen::RequestedLoad::Mode::kAccuracy};

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::RequestedLoad::Seeds>& value) {
  fields.converted("samples", value.samples, wide_value, wide_from);
  fields.converted("schedule", value.schedule, wide_value, wide_from);
  // Earlier versions took the data set in its own order, and stored no seed of it.
  fields.converted_since("data_set", value.data_set, wide_value, wide_from, std::uint64_t{0});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::RequestedLoad>& value) {
  fields("scenario", value.scenario, kLoadScenarios);
  fields("mode", value.mode, kLoadModes);
  fields("minimum_duration_seconds", value.minimum_duration, kMeasuredTime);
  fields("fixed_duration_seconds", value.fixed_duration, kMeasuredTime);
  fields("maximum_duration_seconds", value.maximum_duration, kMeasuredTime);
  fields("minimum_queries", value.minimum_queries);
  fields("samples_per_query", value.samples_per_query);
  fields("percentile", value.percentile);
  fields("latency_limit_seconds", value.latency_limit, kMeasuredTime);
  fields("target_rate", value.target_rate);
  fields("expected_rate", value.expected_rate);
  fields("warm_up_seconds", value.warm_up, kMeasuredTime);
  fields("stall_limit_seconds", value.stall_limit, kMeasuredTime);
  fields("loaded_samples", value.loaded_samples);
  fields("total_samples", value.total_samples);
  fields("seeds", value.seeds);
}

}  // namespace plumb::results
