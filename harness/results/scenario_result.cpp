// SPDX-License-Identifier: Apache-2.0
#include "harness/results/scenario_result.hpp"

#include <algorithm>

namespace plumb::results {
namespace {

/// Returns whether a shortfall is a failure, which more time would not remove.
bool is_failure(loadgen::Shortfall::Kind kind) {
  return kind == loadgen::Shortfall::Kind::kLatency || kind == loadgen::Shortfall::Kind::kDropped ||
         kind == loadgen::Shortfall::Kind::kFailed || kind == loadgen::Shortfall::Kind::kMiscounted;
}

}  // namespace

LoadPeak summarize(const loadgen::PeakResult& peak) {
  LoadPeak summary{peak.rate, peak.highest_passed, peak.lowest_failed, peak.reason, {}};
  for (const loadgen::PeakProbe& probe : peak.probes) {
    const loadgen::LoadResult& result = probe.result;
    summary.probes.push_back({.purpose = probe.purpose,
                              .rate = probe.rate,
                              .valid = result.valid(),
                              .queries = result.queries_issued,
                              .percentile_latency = result.percentile_latency,
                              .reason = result.valid() ? "" : result.shortfalls.front().text});
  }
  return summary;
}

std::string_view to_text(LoadVerdict verdict) {
  switch (verdict) {
    case LoadVerdict::kValid:
      return "valid";
    case LoadVerdict::kFailed:
      return "failed";
    case LoadVerdict::kInconclusive:
      return "inconclusive";
    case LoadVerdict::kNotExecuted:
      return "not_executed";
  }
  return "unknown";
}

LoadVerdict judge_load(const ScenarioResult& load) {
  if (!load.outcome.ok() || !load.result) {
    return LoadVerdict::kNotExecuted;
  }
  const std::vector<loadgen::Shortfall>& shortfalls = load.result->shortfalls;
  if (load.peak && !load.peak->rate) {
    const bool broken = std::any_of(shortfalls.begin(), shortfalls.end(), [](const auto& each) {
      return is_failure(each.kind) && each.kind != loadgen::Shortfall::Kind::kLatency;
    });
    const bool none_passed = load.peak->highest_passed <= 0.0 && load.peak->lowest_failed;
    return broken || none_passed ? LoadVerdict::kFailed : LoadVerdict::kInconclusive;
  }
  if (shortfalls.empty()) {
    return LoadVerdict::kValid;
  }
  return std::any_of(shortfalls.begin(),
                     shortfalls.end(),
                     [](const loadgen::Shortfall& each) { return is_failure(each.kind); })
             ? LoadVerdict::kFailed
             : LoadVerdict::kInconclusive;
}

std::vector<std::string> list_reasons(const ScenarioResult& load) {
  std::vector<std::string> reasons;
  if (!load.outcome.ok()) {
    reasons.push_back(load.outcome.reason);
    return reasons;
  }
  if (load.peak && !load.peak->rate) {
    reasons.push_back(load.peak->reason);
    return reasons;
  }
  if (load.result) {
    for (const loadgen::Shortfall& shortfall : load.result->shortfalls) {
      reasons.push_back(shortfall.text);
    }
  }
  return reasons;
}

std::optional<LoadScore> compute_score(const ScenarioResult& load) {
  if (!load.outcome.ok() || !load.result) {
    return std::nullopt;
  }
  const loadgen::LoadResult& result = *load.result;
  switch (load.requested.scenario) {
    case loadgen::LoadScenario::kSingleStream:
    case loadgen::LoadScenario::kMultiStream: {
      const auto estimate = result.early_stopping ? result.early_stopping->estimate : std::nullopt;
      return LoadScore{"latency",
                       "seconds",
                       estimate ? std::optional(Seconds(*estimate).count()) : std::nullopt};
    }
    case loadgen::LoadScenario::kServer:
      if (load.peak) {
        return LoadScore{"queries_per_second", "per_second", load.peak->rate};
      }
      return LoadScore{"queries_per_second", "per_second", result.queries_per_second};
    case loadgen::LoadScenario::kOffline:
      return LoadScore{"samples_per_second", "per_second", result.samples_per_second};
  }
  return std::nullopt;
}

std::optional<Seconds> latency_at(const ScenarioResult& load, double percent) {
  if (!load.result || load.result->query_latency.count == 0) {
    return std::nullopt;
  }
  const loadgen::LatencySummary& latency = load.result->query_latency;
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    if (loadgen::LatencySummary::kPercentiles[i] == percent) {
      return latency.percentiles[i];
    }
  }
  return std::nullopt;
}

}  // namespace plumb::results
