// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/load_rows.hpp"

#include <fmt/format.h>

#include "reporting/document/quantity_text.hpp"

namespace plumb {
namespace {

std::string time_or_dash(const std::optional<Seconds>& time) {
  return time ? time_text(*time) : "–";
}

}  // namespace

std::string score_text(const ScenarioResult& load) {
  const std::optional<LoadScore> score = score_of(load);
  if (!score || !score->value) {
    return "–";
  }
  const EffectiveLoad& effective = load.result->load;
  switch (effective.scenario) {
    case LoadScenario::kSingleStream:
    case LoadScenario::kMultiStream:
      return fmt::format(
          "{:g} % ≤ {}", effective.rule.percentile, time_text(Seconds(*score->value)));
    case LoadScenario::kServer:
      return fmt::format("{:.4g} queries/s ({:g} % ≤ {})",
                         *score->value,
                         effective.rule.percentile,
                         time_or_dash(effective.latency_limit));
    case LoadScenario::kOffline:
      return fmt::format("{:.4g} samples/s", *score->value);
  }
  return "–";
}

std::string verdict_text(const ScenarioResult& load) {
  switch (verdict_of(load)) {
    case LoadVerdict::kValid:
      return "VALID";
    case LoadVerdict::kFailed:
    case LoadVerdict::kInconclusive:
      return "INVALID";
    case LoadVerdict::kNotExecuted:
      return std::string(to_text(load.outcome.kind));
  }
  return "–";
}

std::vector<std::string> load_cells(const ScenarioResult& load) {
  return {load.scenario,
          load.mode,
          verdict_text(load),
          score_text(load),
          time_or_dash(latency_at(load, 50.0)),
          time_or_dash(latency_at(load, 99.0)),
          load.result ? std::to_string(load.result->queries_completed) : "–"};
}

}  // namespace plumb
