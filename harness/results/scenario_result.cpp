// SPDX-License-Identifier: Apache-2.0
#include "harness/results/scenario_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/results/measurement_fields.hpp"

namespace plumb::results {
namespace {

/// Returns whether a shortfall is a failure, which more time would not remove.
bool is_failure(loadgen::LoadResult::Shortfall::Kind kind) {
  return kind == loadgen::LoadResult::Shortfall::Kind::kLatency ||
         kind == loadgen::LoadResult::Shortfall::Kind::kDropped ||
         kind == loadgen::LoadResult::Shortfall::Kind::kFailed ||
         kind == loadgen::LoadResult::Shortfall::Kind::kMiscounted;
}

}  // namespace

ScenarioResult::Peak summarize(const loadgen::BudgetedLoad::Peak& peak) {
  ScenarioResult::Peak summary{peak.rate, peak.highest_passed, peak.lowest_failed, peak.reason, {}};
  for (const loadgen::BudgetedLoad::Probe& probe : peak.probes) {
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

std::string_view to_text(ScenarioResult::Verdict verdict) {
  switch (verdict) {
    case ScenarioResult::Verdict::kValid:
      return "valid";
    case ScenarioResult::Verdict::kFailed:
      return "failed";
    case ScenarioResult::Verdict::kInconclusive:
      return "inconclusive";
    case ScenarioResult::Verdict::kNotExecuted:
      return "not_executed";
  }
  return "unknown";
}

ScenarioResult::Verdict judge_load(const ScenarioResult& load) {
  if (!load.outcome.ok() || !load.result) {
    return ScenarioResult::Verdict::kNotExecuted;
  }
  const std::vector<loadgen::LoadResult::Shortfall>& shortfalls = load.result->shortfalls;
  if (load.peak && !load.peak->rate) {
    const bool broken = std::any_of(shortfalls.begin(), shortfalls.end(), [](const auto& each) {
      return is_failure(each.kind) && each.kind != loadgen::LoadResult::Shortfall::Kind::kLatency;
    });
    const bool none_passed = load.peak->highest_passed <= 0.0 && load.peak->lowest_failed;
    return broken || none_passed ? ScenarioResult::Verdict::kFailed
                                 : ScenarioResult::Verdict::kInconclusive;
  }
  if (shortfalls.empty()) {
    return ScenarioResult::Verdict::kValid;
  }
  return std::any_of(
             shortfalls.begin(),
             shortfalls.end(),
             [](const loadgen::LoadResult::Shortfall& each) { return is_failure(each.kind); })
             ? ScenarioResult::Verdict::kFailed
             : ScenarioResult::Verdict::kInconclusive;
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
    for (const loadgen::LoadResult::Shortfall& shortfall : load.result->shortfalls) {
      reasons.push_back(shortfall.text);
    }
  }
  return reasons;
}

std::optional<ScenarioResult::Score> compute_score(const ScenarioResult& load) {
  if (!load.outcome.ok() || !load.result) {
    return std::nullopt;
  }
  const loadgen::LoadResult& result = *load.result;
  switch (load.requested.scenario) {
    case loadgen::RequestedLoad::Scenario::kSingleStream:
    case loadgen::RequestedLoad::Scenario::kMultiStream: {
      const auto estimate = result.early_stopping ? result.early_stopping->estimate : std::nullopt;
      return ScenarioResult::Score{
          "latency",
          "seconds",
          estimate ? std::optional(Seconds(*estimate).count()) : std::nullopt};
    }
    case loadgen::RequestedLoad::Scenario::kServer:
      if (load.peak) {
        return ScenarioResult::Score{"queries_per_second", "per_second", load.peak->rate};
      }
      return ScenarioResult::Score{"queries_per_second", "per_second", result.queries_per_second};
    case loadgen::RequestedLoad::Scenario::kOffline:
      return ScenarioResult::Score{"samples_per_second", "per_second", result.samples_per_second};
  }
  return std::nullopt;
}

std::optional<Seconds> latency_at(const ScenarioResult& load, double percent) {
  if (!load.result || load.result->query_latency.count == 0) {
    return std::nullopt;
  }
  const loadgen::LoadResult::LatencySummary& latency = load.result->query_latency;
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    if (loadgen::LoadResult::LatencySummary::kPercentiles[i] == percent) {
      return latency.percentiles[i];
    }
  }
  return std::nullopt;
}

// Fields of the result of a scenario, as JSON.

namespace {

constexpr std::array kPurposes{loadgen::BudgetedLoad::Probe::Purpose::kUnloaded,
                               loadgen::BudgetedLoad::Probe::Purpose::kProbe,
                               loadgen::BudgetedLoad::Probe::Purpose::kConfirmation};
constexpr std::array kShortfalls{loadgen::LoadResult::Shortfall::Kind::kDuration,
                                 loadgen::LoadResult::Shortfall::Kind::kCount,
                                 loadgen::LoadResult::Shortfall::Kind::kLatency,
                                 loadgen::LoadResult::Shortfall::Kind::kConfidence,
                                 loadgen::LoadResult::Shortfall::Kind::kDropped,
                                 loadgen::LoadResult::Shortfall::Kind::kFailed,
                                 loadgen::LoadResult::Shortfall::Kind::kMiscounted};

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::EffectiveLoad>& value) {
  fields("scenario", value.scenario, kLoadScenarios);
  fields("mode", value.mode, kLoadModes);
  fields("minimum_duration_seconds", value.minimum_duration);
  fields("fixed_duration", value.fixed_duration);
  fields("maximum_duration_seconds", value.maximum_duration);
  fields("minimum_queries", value.minimum_queries);
  fields("samples_per_query", value.samples_per_query);
  fields("percentile", value.rule.percentile);
  fields("confidence", value.rule.confidence);
  fields("latency_limit_seconds", value.latency_limit);
  fields("target_rate", value.target_rate);
  fields("warm_up_seconds", value.warm_up);
  fields("stall_limit_seconds", value.stall_limit);
  fields("over_latency_at_most", value.over_latency_at_most);
  fields("loaded_samples", value.loaded_samples);
  fields("total_samples", value.total_samples);
  fields("seeds", value.seeds);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::LoadResult::LatencySummary>& value) {
  fields("count", value.count);
  fields("min_seconds", value.min);
  fields("mean_seconds", value.mean);
  fields("max_seconds", value.max);
  fields("p50_low_seconds", value.median_low);
  fields("p50_high_seconds", value.median_high);
  for (std::size_t i = 0; i < value.percentiles.size(); ++i) {
    fields(
        fmt::format("p{:g}_seconds", loadgen::LoadResult::LatencySummary::kPercentiles[i]).c_str(),
        value.percentiles[i]);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::LoadResult::EarlyStopping>& value) {
  fields("met", value.met);
  fields("queries", value.queries);
  fields("needed", value.needed);
  fields("over", value.over);
  fields("dropped", value.dropped);
  fields("estimate_99_seconds", value.estimate_99);
  fields("estimate_seconds", value.estimate);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::LoadResult::Shortfall>& value) {
  fields("kind", value.kind, kShortfalls);
  fields("required", value.required);
  fields("actual", value.actual);
  fields("text", value.text);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::LoadResult>& value) {
  fields("effective", value.load);
  fields("system", value.system);
  fields.derived("valid", [&] { return value.valid(); });
  fields("shortfalls", value.shortfalls, {.elements = 100});
  fields("queries_issued", value.queries_issued);
  fields("queries_completed", value.queries_completed);
  fields("samples_issued", value.samples_issued);
  fields("samples_completed", value.samples_completed);
  fields("samples_failed", value.samples_failed);
  fields("samples_dropped", value.samples_dropped);
  fields("unknown_answers", value.unknown_answers);
  fields("over_latency", value.over_latency);
  fields("first_failure", value.first_failure);
  fields("out_of_budget", value.out_of_budget);
  fields("stopped_as_lost", value.stopped_as_lost);
  fields.since("begin_seconds", value.begin);
  fields("last_issue_seconds", value.last_issue);
  fields("last_completion_seconds", value.last_completion);
  fields("sample_latency", value.sample_latency);
  fields("query_latency", value.query_latency);
  fields("percentile_seconds", value.percentile_latency);
  fields("early_stopping", value.early_stopping);
  fields("lateness", value.lateness);
  fields("queries_per_second", value.queries_per_second);
  fields("samples_per_second", value.samples_per_second);
  fields("scheduled_per_second", value.scheduled_per_second);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ScenarioResult::Peak::Probe>& value) {
  fields("purpose", value.purpose, kPurposes);
  fields("rate", value.rate);
  fields("valid", value.valid);
  fields("queries", value.queries);
  fields("percentile_seconds", value.percentile_latency);
  fields("reason", value.reason);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ScenarioResult::Peak>& value) {
  fields("rate", value.rate);
  fields("highest_passed", value.highest_passed);
  fields("lowest_failed", value.lowest_failed);
  fields("reason", value.reason);
  fields("probes", value.probes, {.elements = 1'000});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ScenarioResult::Agreement>& value) {
  fields("samples", value.samples);
  fields("maximum_difference", value.maximum_difference);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::BatchExecutor::BucketUse>& value) {
  fields("bucket", value.bucket);
  fields("batches", value.batches);
  fields("samples", value.samples);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ScenarioResult::Score>& value) {
  fields("name", value.name);
  fields("unit", value.unit);
  fields("value", value.value);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ScenarioResult>& value) {
  fields("mode", value.mode);
  fields("model", value.model);
  fields("scenario", value.scenario, loadgen::kScenarioNames);
  fields("outcome", value.outcome.kind, parse_outcome_kind);
  fields("reason", value.outcome.reason);
  fields.derived("verdict", [&] { return to_text(judge_load(value)); });
  fields.derived("score", [&] { return compute_score(value); });
  fields("requested", value.requested);
  fields("result", value.result);
  fields("peak", value.peak);
  fields("agreement", value.agreement);
  fields("accuracy", value.accuracy);
  fields.nested("batcher", [&](auto& batcher) {
    batcher("direct", value.direct);
    batcher("maximum_batch", value.batches.maximum_batch);
    batcher("timeout_seconds", value.batches.timeout);
    batcher("lanes", value.batches.lanes);
    batcher("buckets", value.buckets, {.elements = 10'000});
  });
  fields("inputs_per_sample", value.inputs_per_sample, {.low = 1});
  fields.derived("copies_counted", [] { return true; });
  fields("memory_bytes", value.memory);
  fields("reorders", value.reorders);
  fields("floor_seconds", value.floor);
  fields("preparation_seconds", value.preparation);
  fields("disturbance", value.disturbance);
  fields("started", value.started);
  fields("wall_seconds", value.wall);
  fields("process", value.process);
}

std::string to_json(const ScenarioResult& load) {
  return described_text(load);
}

ScenarioResult scenario_result_from_json(std::string_view text) {
  return value_from_text<ScenarioResult>(text);
}

}  // namespace plumb::results
