// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/load_rows.hpp"

#include <fmt/format.h>

#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

std::string time_or_dash(const std::optional<Seconds>& time) {
  return time ? time_text(*time) : "–";
}

}  // namespace

std::string score_text(const results::ScenarioResult& load) {
  const std::optional<results::LoadScore> score = results::compute_score(load);
  if (!score || !score->value) {
    return "–";
  }
  const loadgen::EffectiveLoad& effective = load.result->load;
  switch (effective.scenario) {
    case loadgen::LoadScenario::kSingleStream:
    case loadgen::LoadScenario::kMultiStream:
      return fmt::format(
          "{:g} % ≤ {}", effective.rule.percentile, time_text(Seconds(*score->value)));
    case loadgen::LoadScenario::kServer:
      return fmt::format("{:.4g} queries/s ({:g} % ≤ {})",
                         *score->value,
                         effective.rule.percentile,
                         time_or_dash(effective.latency_limit));
    case loadgen::LoadScenario::kOffline:
      return fmt::format("{:.4g} samples/s", *score->value);
  }
  return "–";
}

std::string verdict_text(const results::ScenarioResult& load) {
  switch (judge_load(load)) {
    case results::LoadVerdict::kValid:
      return "VALID";
    case results::LoadVerdict::kFailed:
    case results::LoadVerdict::kInconclusive:
      return "INVALID";
    case results::LoadVerdict::kNotExecuted:
      return std::string(to_text(load.outcome.kind));
  }
  return "–";
}

}  // namespace plumb::reporting
