// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_result.hpp"

#include <algorithm>

#include "harness/measure/sample_summary.hpp"

namespace plumb::loadgen {
namespace {

double per_second(std::uint64_t count, std::chrono::nanoseconds time) {
  return time.count() > 0 ? static_cast<double>(count) / Seconds(time).count() : 0.0;
}

EarlyStopping stop_early(const LoadResult& result, const LatencyHistogram& queries) {
  EarlyStopping stopping;
  const ConfidenceRule& rule = result.load.rule;
  if (result.load.scenario == LoadScenario::kServer) {
    // A query that was never answered was not answered in time.
    stopping.queries = result.queries_issued;
    stopping.over = result.over_latency + (result.queries_issued - result.queries_completed);
    stopping.needed = queries_needed(rule, stopping.over);
    stopping.met = stopping.queries >= stopping.needed;
    return stopping;
  }
  stopping.queries = queries.count();
  stopping.needed = queries_needed(rule, 1);
  if (const auto rank = estimate_rank(rule, stopping.queries)) {
    stopping.met = true;
    stopping.dropped = *rank - 1;
    stopping.estimate = queries.at_rank(stopping.queries - *rank);
  }
  const auto rank_99 = estimate_rank({99.0, rule.confidence}, stopping.queries);
  if (rank_99 && result.load.scenario == LoadScenario::kSingleStream) {
    stopping.estimate_99 = queries.at_rank(stopping.queries - *rank_99);
  }
  return stopping;
}

void add_rates(LoadResult& result, std::chrono::nanoseconds last_issued_completion) {
  const bool server = result.load.scenario == LoadScenario::kServer;
  const std::uint64_t queries = result.queries_completed;
  if (queries > 1 && result.load.scenario != LoadScenario::kOffline) {
    const auto time = server ? last_issued_completion : result.last_issue;
    result.queries_per_second = per_second(queries - 1, time);
    result.samples_per_second =
        result.queries_per_second * static_cast<double>(result.load.samples_per_query);
  } else {
    result.queries_per_second = per_second(queries, result.last_completion);
    result.samples_per_second = per_second(result.samples_completed, result.last_completion);
  }
  if (server && result.queries_issued > 1) {
    result.scheduled_per_second = per_second(result.queries_issued - 1, result.last_issue);
  }
}

}  // namespace

LatencySummary summarize(const LatencyHistogram& latencies) {
  LatencySummary summary;
  summary.count = latencies.count();
  summary.min = latencies.min();
  summary.mean = latencies.mean();
  summary.max = latencies.max();
  std::transform(LatencySummary::kPercentiles.begin(),
                 LatencySummary::kPercentiles.end(),
                 summary.percentiles.begin(),
                 [&](double percent) { return latencies.percentile(percent); });
  const auto rank = measure::median_interval_rank(summary.count);
  summary.median_low = rank ? latencies.at_rank(*rank - 1) : summary.min;
  summary.median_high = rank ? latencies.at_rank(summary.count - *rank) : summary.max;
  return summary;
}

LoadResult make_load_result(const EffectiveLoad& load,
                            const IssueTally& issued,
                            const CompletionTally& completed) {
  LoadResult result;
  result.load = load;
  result.queries_issued = issued.queries;
  result.queries_completed = completed.queries;
  result.samples_issued = issued.samples;
  result.samples_completed = completed.samples;
  result.samples_failed = completed.failed_samples;
  result.samples_dropped = issued.samples - completed.samples - completed.failed_samples;
  result.unknown_answers = completed.unknown_answers;
  result.over_latency = completed.over_latency;
  result.first_failure = completed.first_failure;
  result.out_of_budget = issued.out_of_budget;
  result.stopped_as_lost = issued.stopped_as_lost;
  result.last_issue = issued.last_issue;
  if (completed.samples > 0) {
    result.last_completion = completed.last_completion - issued.start;
  }
  result.begin = issued.start;
  result.sample_latency = summarize(completed.sample_latencies);
  const LatencyHistogram& queries = load.scenario == LoadScenario::kMultiStream
                                        ? completed.query_latencies
                                        : completed.sample_latencies;
  result.query_latency = summarize(queries);
  result.percentile_latency = queries.percentile(load.rule.percentile);
  if (load.scenario != LoadScenario::kOffline && load.mode == LoadMode::kPerformance) {
    result.early_stopping = stop_early(result, queries);
  }
  if (load.scenario == LoadScenario::kServer) {
    result.lateness = summarize(issued.lateness);
  }
  add_rates(result, completed.last_issued_completion - issued.start);
  result.shortfalls = find_shortfalls(result);
  return result;
}

}  // namespace plumb::loadgen
