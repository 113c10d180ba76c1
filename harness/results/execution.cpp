// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "harness/results/measurement_fields.hpp"

namespace plumb::results {
namespace {

/// Reads a scenario. Workers in Python once named none.
std::optional<loadgen::ScenarioName> stored_scenario(std::string_view text) {
  return text.empty() ? loadgen::ScenarioName::kSingleStream : loadgen::parse_scenario_name(text);
}

/// Describes the turn of an execution, which one of a shape alone has not.
template <typename Fields>
void describe_turn(Fields& fields, Described<Fields, std::optional<ShapeTurn>>& turn) {
  constexpr const char* kName = "turn";
  std::string text(turn ? to_text(*turn) : std::string_view());
  fields.unless_empty(kName, text);
  if constexpr (Fields::kReads) {
    turn = parse_shape_turn(text);
    if (!turn && !text.empty()) {
      refuse_word(kName, text);
    }
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, measure::MeasuredTime>& value) {
  fields("median_seconds", value.median);
  fields("low_seconds", value.interval.low);
  fields("high_seconds", value.interval.high);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ExecutedLayer>& value) {
  fields("layers", value.layers);
  fields("key", value.key.text);
  fields("variant", value.variant);
  fields("seconds", value.seconds);
  fields("reorder_seconds", value.reorder);
  fields("reorders", value.reorders);
  fields.unless_empty("in_turn", value.in_context);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Execution>& value) {
  fields("mode", value.mode);
  fields("scenario", value.scenario, stored_scenario);
  describe_turn(fields, value.turn);
  fields("memory_bytes", value.memory);
  fields("reorders", value.reorders);
  fields.since("layers", value.layers);
  fields("row", value.row);
  fields.unless_empty("in_turn", value.in_context);
}

std::string to_json(const Execution& execution) {
  return described_text(execution);
}

Execution execution_from_json(std::string_view text) {
  return value_from_text<Execution>(text);
}

}  // namespace plumb::results
