// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/what_if_json.hpp"

#include "harness/analysis/whatif/mode_accuracy.hpp"
#include "harness/analysis/whatif/mode_settings.hpp"

namespace plumb::analysis {
namespace {

/// Returns what somebody must know who switches a change on.
Json circumstances_json(const WhatIfResult& result) {
  Json settings = Json::array();
  for (const ModeSetting& each : settings_of(result.execution_mode)) {
    settings.push_back(
        {{"option", each.option}, {"framework", each.framework}, {"setting", each.setting}});
  }
  return {{"applies", result.applies},
          {"combination", result.combination},
          {"accuracy", accuracy_class(result.execution_mode)},
          {"settings", settings},
          {"not_judged", text_or_null(result.not_judged)},
          {"realised_baseline_memory_bytes", bytes_or_null(result.realised_baseline_memory)},
          {"realised_memory_bytes", bytes_or_null(result.realised_memory)},
          {"realised_difference", number_or_null(result.realised_difference)}};
}

}  // namespace

Json what_if_json(const WhatIfResult& result) {
  Json layers = Json::array();
  for (const auto& saving : result.layers) {
    layers.push_back({{"layer", saving.layer},
                      {"key", saving.key.text},
                      {"before_seconds", saving.before.count()},
                      {"after_seconds", saving.after.count()},
                      {"change", saving.change}});
  }
  Json row{
      {"name", result.name},
      {"mode", result.mode},
      {"baseline_seconds", seconds_or_null(result.baseline)},
      {"predicted_seconds", seconds_or_null(result.predicted)},
      {"predicted_speedup", number_or_null(result.predicted_speedup)},
      {"execution_mode", text_or_null(result.execution_mode)},
      {"baseline_mode", result.baseline_mode},
      {"realised_baseline_seconds", seconds_or_null(result.realised_baseline)},
      {"realised_seconds", seconds_or_null(result.realised)},
      {"realised_speedup", number_or_null(result.realised_speedup)},
      {"prediction_error", result.prediction_error ? Json(result.prediction_error->share) : Json()},
      {"layers", layers},
      {"prerequisites", result.prerequisites},
      {"predicted_saving_seconds", seconds_or_null(predicted_saving(result))},
      {"basis", result.of_plans ? "plans" : "layers"},
      {"command", result.command}};
  const auto add_interval = [&](const std::string& prefix, auto known, double low, double high) {
    if (known) {
      row[prefix + "low"] = low;
      row[prefix + "high"] = high;
    }
  };
  const auto add_times =
      [&](const std::string& prefix, const auto& time, const measure::Interval& within) {
        add_interval(prefix, time.has_value(), within.low.count(), within.high.count());
      };
  add_times("baseline_", result.baseline, result.baseline_interval);
  add_times("", result.predicted, result.predicted_interval);
  add_times("realised_baseline_", result.realised_baseline, result.realised_baseline_interval);
  add_times("realised_", result.realised, result.realised_interval);
  const PredictionError error = result.prediction_error.value_or(PredictionError{});
  add_interval("prediction_error_", result.prediction_error.has_value(), error.low, error.high);
  if (const std::optional<measure::MeasuredTime> saving = saving_with_interval(result)) {
    row["predicted_saving_low"] = saving->interval.low.count();
    row["predicted_saving_high"] = saving->interval.high.count();
  }
  if (!result.why_not.empty()) {
    row["why_not"] = result.why_not;
  }
  row.update(circumstances_json(result));
  return row;
}

Json waterfall_json(const std::vector<WaterfallLevel>& levels) {
  Json rows = Json::array();
  for (const WaterfallLevel& level : levels) {
    rows.push_back({{"name", level.name},
                    {"what", level.what},
                    {"seconds", level.time.median.count()},
                    {"low", level.time.interval.low.count()},
                    {"high", level.time.interval.high.count()}});
  }
  return rows;
}

}  // namespace plumb::analysis
