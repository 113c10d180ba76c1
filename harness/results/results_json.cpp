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
  fields("peak_f32_flops_per_second", value.peak_f32);
  fields("peak_bf16_flops_per_second", value.peak_bf16);
  fields("memory_bandwidth_bytes_per_second", value.memory_bandwidth);
  fields("last_level_cache_bytes", value.last_level_cache);
  fields("floor_seconds", value.floor);
  fields("timer_tick_seconds", value.timer_tick);
  fields("parallel_efficiency", value.parallel_efficiency);
  // Null where unknown. Calibrations of earlier versions lack those of the other types.
  fields("theoretical_f32_flops_per_second", value.theoretical_f32);
  fields("peak_f16_flops_per_second", value.peak_f16);
  fields("peak_tf32_flops_per_second", value.peak_tf32);
  fields("peak_int8_operations_per_second", value.peak_int8);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Controls>& value) {
  fields("floor_seconds", value.floor);
  fields("product_seconds", value.product);
  fields("copy_seconds", value.copy);
  fields.unless_empty("host", value.host);
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
