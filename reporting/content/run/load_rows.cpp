// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/load_rows.hpp"

#include <fmt/format.h>

#include "harness/loadgen/mlperf/mlperf_words.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb {
namespace {

/// Finds a percentile of the queries' latencies. Absent: there is none.
std::optional<Seconds> latency_at(const ScenarioResult& load, double percent) {
  if (!load.result || load.result->query_latency.count == 0) {
    return std::nullopt;
  }
  const LatencySummary& latency = load.result->query_latency;
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    if (LatencySummary::kPercentiles[i] == percent) {
      return latency.percentiles[i];
    }
  }
  return std::nullopt;
}

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

Json load_json(const ScenarioResult& load) {
  const bool known = load.result && load.result->query_latency.count > 0;
  const auto seconds = [&](double percent) {
    const std::optional<Seconds> time = latency_at(load, percent);
    return time ? Json(time->count()) : Json();
  };
  Json row{{"mode", load.mode},
           {"scenario", load.scenario},
           {"outcome", to_text(load.outcome.kind)},
           {"reason", load.outcome.reason},
           {"median_seconds", seconds(50.0)},
           {"low", known ? Json(Seconds(load.result->query_latency.median_low).count()) : Json()},
           {"high", known ? Json(Seconds(load.result->query_latency.median_high).count()) : Json()},
           {"p90_seconds", seconds(90.0)},
           {"p99_seconds", seconds(99.0)},
           {"samples", known ? load.result->query_latency.count : 0},
           {"memory_bytes", load.memory.value},
           {"reorders", load.reorders},
           {"notice", kMlperfUnverified}};
  row["load"] = Json::parse(to_json(load));
  return row;
}

}  // namespace plumb
