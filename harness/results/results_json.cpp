// SPDX-License-Identifier: Apache-2.0
#include "harness/results/results_json.hpp"

#include "harness/results/measurement_fields.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::results {
template <typename Fields>
void describe(Fields& fields, Described<Fields, Environment>& value) {
  fields("identity", value.identity);
  fields("facts", value.facts);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RunHeader>& value) {
  fields("id", value.id);
  fields("suite", value.suite);
  fields("suite_hash", value.suite_hash);
  fields("resolved_suite", value.resolved_suite);
  fields("backend", value.backend);
  fields("stack", value.stack);
  fields("environment", value.environment);
  fields("shard", value.shard);
  fields("command", value.command, {.elements = 10'000});
  fields("started", value.started);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Calibration>& value) {
  fields("peak_f32_flops_per_second", value.peak_f32, kRate);
  fields("peak_bf16_flops_per_second", value.peak_bf16, kRate);
  fields("memory_bandwidth_bytes_per_second", value.memory_bandwidth, kRate);
  fields("last_level_cache_bytes", value.last_level_cache);
  fields("floor_seconds", value.floor, kMeasuredTime);
  fields("timer_tick_seconds", value.timer_tick, kMeasuredTime);
  fields("parallel_efficiency", value.parallel_efficiency, {.least = 0.0, .most = 1e3});
  // Null where unknown. Calibrations of earlier versions lack those of the other types.
  fields("theoretical_f32_flops_per_second", value.theoretical_f32, kRate);
  fields("peak_f16_flops_per_second", value.peak_f16, kRate);
  fields("peak_tf32_flops_per_second", value.peak_tf32, kRate);
  fields("peak_int8_operations_per_second", value.peak_int8, kRate);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Controls>& value) {
  fields("floor_seconds", value.floor);
  fields("product_seconds", value.product);
  fields("copy_seconds", value.copy);
  fields.unless_empty("host", value.host);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, EngineChoices::Configuration>& value) {
  constexpr FieldLimits kNotes{.elements = 256};
  constexpr FieldLimits kAnyInteger{
      .low = JsonObject::kLowest, .high = JsonObject::kHighest, .elements = kNotes.elements};
  fields("engine", value.engine, kAnyInteger);
  fields("knobs", value.knobs, kAnyInteger);
  fields("numerical_notes", value.numerical_notes, kNotes);
  fields("behaviour_notes", value.behaviour_notes, kNotes);
  fields("workspace_bytes", value.workspace);
  fields("shared_memory_bytes", value.shared_memory);
  fields("plan_digest", value.plan_digest);
  fields("refusal", value.refusal);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, EngineChoices::Ranking>& value) {
  fields("heuristic", value.heuristic);
  fields("configurations", value.configurations, {.elements = 10'000});
  fields("refusal", value.refusal);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, EngineChoices::Offer>& value) {
  fields("layout", value.layout);
  fields("engines", value.engines);
  fields("rankings", value.rankings, {.elements = 16});
  fields("refusal", value.refusal);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, EngineChoices>& value) {
  fields("key", value.key.text, {.shortest = 1, .longest = kKeyText.longest});
  fields("outcome", value.outcome.kind, parse_outcome_kind);
  fields("reason", value.outcome.reason);
  fields("offers", value.offers, {.elements = 16});
}

std::string to_json(const Measurement& row) {
  return described_text(row);
}

Measurement measurement_from_json(std::string_view text) {
  return value_from_text<Measurement>(text);
}

std::string to_json(const Attributes& attributes) {
  return json_text(attributes);
}

Attributes attributes_from_json(std::string_view text) {
  return attributes_from(parse_json(text));
}

std::string to_json(const Readings& readings) {
  return json_text(readings_value(readings));
}

Readings readings_from_json(std::string_view text) {
  return readings_from(parse_json(text));
}

std::string to_json(const EngineChoices& choices) {
  return described_text(choices);
}

EngineChoices engine_choices_from_json(std::string_view text) {
  return value_from_text<EngineChoices>(text);
}

std::string to_json(const Environment& environment) {
  return described_text(environment);
}

Environment environment_from_json(std::string_view text) {
  return value_from_text<Environment>(text);
}

std::string to_json(const RunHeader& header) {
  return described_text(header);
}

RunHeader run_header_from_json(std::string_view text) {
  return value_from_text<RunHeader>(text);
}

std::string to_json(const Calibration& calibration) {
  return described_text(calibration);
}

Calibration calibration_from_json(std::string_view text) {
  return value_from_text<Calibration>(text);
}

std::string to_json(const Controls& controls) {
  return described_text(controls);
}

Controls controls_from_json(std::string_view text) {
  return value_from_text<Controls>(text);
}

}  // namespace plumb::results
