// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_result.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/measure/sample_summary.hpp"

namespace plumb::loadgen {
namespace {

double per_second(std::uint64_t count, std::chrono::nanoseconds time) {
  return time.count() > 0 ? static_cast<double>(count) / Seconds(time).count() : 0.0;
}

LoadResult::EarlyStopping stop_early(const LoadResult& result,
                                     const CompletionRecorder::Histogram& queries) {
  LoadResult::EarlyStopping stopping;
  const EffectiveLoad::ConfidenceRule& rule = result.load.rule;
  if (result.load.scenario == RequestedLoad::Scenario::kServer) {
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
  if (rank_99 && result.load.scenario == RequestedLoad::Scenario::kSingleStream) {
    stopping.estimate_99 = queries.at_rank(stopping.queries - *rank_99);
  }
  return stopping;
}

void add_rates(LoadResult& result, std::chrono::nanoseconds last_issued_completion) {
  const bool server = result.load.scenario == RequestedLoad::Scenario::kServer;
  const std::uint64_t queries = result.queries_completed;
  if (queries > 1 && result.load.scenario != RequestedLoad::Scenario::kOffline) {
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

LoadResult::LatencySummary summarize(const CompletionRecorder::Histogram& latencies) {
  LoadResult::LatencySummary summary;
  summary.count = latencies.count();
  summary.min = latencies.min();
  summary.mean = latencies.mean();
  summary.max = latencies.max();
  std::transform(LoadResult::LatencySummary::kPercentiles.begin(),
                 LoadResult::LatencySummary::kPercentiles.end(),
                 summary.percentiles.begin(),
                 [&](double percent) { return latencies.percentile(percent); });
  const auto rank = measure::median_interval_rank(summary.count);
  summary.median_low = rank ? latencies.at_rank(*rank - 1) : summary.min;
  summary.median_high = rank ? latencies.at_rank(summary.count - *rank) : summary.max;
  return summary;
}

LoadResult make_load_result(const EffectiveLoad& load,
                            const LoadResult::IssueTally& issued,
                            const CompletionRecorder::Tally& completed) {
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
  const CompletionRecorder::Histogram& queries =
      load.scenario == RequestedLoad::Scenario::kMultiStream ? completed.query_latencies
                                                             : completed.sample_latencies;
  result.query_latency = summarize(queries);
  result.percentile_latency = queries.percentile(load.rule.percentile);
  if (load.scenario != RequestedLoad::Scenario::kOffline &&
      load.mode == RequestedLoad::Mode::kPerformance) {
    result.early_stopping = stop_early(result, queries);
  }
  if (load.scenario == RequestedLoad::Scenario::kServer) {
    result.lateness = summarize(issued.lateness);
  }
  add_rates(result, completed.last_issued_completion - issued.start);
  result.shortfalls = find_shortfalls(result);
  return result;
}

// Decides whether the result of a load is valid.

namespace {

using Kind = LoadResult::Shortfall::Kind;

double seconds(std::chrono::nanoseconds time) {
  return Seconds(time).count();
}

std::string why_ended(const LoadResult& result) {
  if (result.stopped_as_lost) {
    return "; the run ended when it could no longer keep the latency limit";
  }
  if (result.out_of_budget) {
    return fmt::format("; the maximum duration of {:.6g} s ended it",
                       seconds(result.load.maximum_duration.value_or(result.last_issue)));
  }
  return "";
}

void check_answers(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  const auto issued = static_cast<double>(result.samples_issued);
  if (result.samples_dropped > 0) {
    const auto dropped = static_cast<double>(result.samples_dropped);
    found.push_back(
        {Kind::kDropped,
         issued,
         issued - dropped,
         fmt::format(
             "{} of {} samples were not answered: the run waited {:.6g} s for the next answer",
             result.samples_dropped,
             result.samples_issued,
             seconds(result.load.stall_limit))});
  }
  if (result.samples_failed > 0) {
    found.push_back({Kind::kFailed,
                     0.0,
                     static_cast<double>(result.samples_failed),
                     fmt::format("{} of {} samples failed; the first: {}",
                                 result.samples_failed,
                                 result.samples_issued,
                                 result.first_failure)});
  }
  if (result.unknown_answers > 0) {
    found.push_back({Kind::kMiscounted,
                     0.0,
                     static_cast<double>(result.unknown_answers),
                     fmt::format("{} answers were to samples that were not outstanding (answered "
                                 "twice, or never issued)",
                                 result.unknown_answers)});
  }
}

void check_duration(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  const bool offline = result.load.scenario == RequestedLoad::Scenario::kOffline;
  const auto ran = offline ? result.sample_latency.max : result.last_issue;
  const auto required = result.load.minimum_duration;
  if (ran < required) {
    found.push_back(
        {Kind::kDuration,
         seconds(required),
         seconds(ran),
         fmt::format("{} after {:.6g} s, {:.6g} s short of the minimum duration of {:.6g} s{}",
                     offline ? "the last sample was answered" : "the last query was issued",
                     seconds(ran),
                     seconds(required - ran),
                     seconds(required),
                     why_ended(result))});
  }
}

void check_count(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  const std::uint64_t required = result.load.minimum_queries;
  if (result.queries_issued < required) {
    found.push_back({Kind::kCount,
                     static_cast<double>(required),
                     static_cast<double>(result.queries_issued),
                     fmt::format("{} queries were issued, {} fewer than the minimum of {}{}",
                                 result.queries_issued,
                                 required - result.queries_issued,
                                 required,
                                 why_ended(result))});
  }
}

void check_completeness(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  const std::uint64_t required = result.load.total_samples;
  if (result.samples_issued < required) {
    found.push_back({Kind::kCount,
                     static_cast<double>(required),
                     static_cast<double>(result.samples_issued),
                     fmt::format("{} of the {} samples of the data set were issued{}",
                                 result.samples_issued,
                                 required,
                                 why_ended(result))});
  }
}

void check_latency(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  if (!result.load.latency_limit) {
    return;
  }
  // By counts, which are exact. sorted[⌊N·p⌋] is within the limit if more than ⌊N·p⌋ latencies are.
  const std::uint64_t queries = result.query_latency.count;
  const auto rank = static_cast<std::uint64_t>(static_cast<double>(queries) *
                                               fraction_of(result.load.rule.percentile));
  if (queries > 0 && queries - result.over_latency <= rank) {
    const double limit = seconds(*result.load.latency_limit);
    const double actual = seconds(result.percentile_latency);
    found.push_back(
        {Kind::kLatency,
         limit,
         actual,
         fmt::format("the {:g} % latency is {:.6g} ms, {:.3g} % above the limit of {:.6g} "
                     "ms: {} of {} queries were over it, {} may be",
                     result.load.rule.percentile,
                     actual * 1e3,
                     (actual / limit - 1.0) * 100.0,
                     limit * 1e3,
                     result.over_latency,
                     queries,
                     queries - rank - 1)});
  }
}

void check_confidence(const LoadResult& result, std::vector<LoadResult::Shortfall>& found) {
  if (!result.early_stopping || result.early_stopping->met) {
    return;
  }
  const LoadResult::EarlyStopping& stopping = *result.early_stopping;
  const bool server = result.load.scenario == RequestedLoad::Scenario::kServer;
  found.push_back(
      {Kind::kConfidence,
       static_cast<double>(stopping.needed),
       static_cast<double>(stopping.queries),
       fmt::format("{} queries{} do not prove the {:g} % latency with {:g} % confidence: {} more "
                   "are needed{}{}",
                   stopping.queries,
                   server ? fmt::format(", {} of them over the limit,", stopping.over) : "",
                   result.load.rule.percentile,
                   result.load.rule.confidence * 100.0,
                   stopping.needed - stopping.queries,
                   server ? " if none of them is over it" : "",
                   why_ended(result))});
}

}  // namespace

std::string_view to_text(LoadResult::Shortfall::Kind kind) {
  switch (kind) {
    case Kind::kDuration:
      return "duration";
    case Kind::kCount:
      return "count";
    case Kind::kLatency:
      return "latency";
    case Kind::kConfidence:
      return "confidence";
    case Kind::kDropped:
      return "dropped";
    case Kind::kFailed:
      return "failed";
    case Kind::kMiscounted:
      return "miscounted";
  }
  return "unknown";
}

std::vector<LoadResult::Shortfall> find_shortfalls(const LoadResult& result) {
  std::vector<LoadResult::Shortfall> found;
  check_answers(result, found);
  if (result.load.mode == RequestedLoad::Mode::kAccuracy) {
    check_completeness(result, found);
  } else {
    check_duration(result, found);
    check_count(result, found);
    check_latency(result, found);
    check_confidence(result, found);
  }
  return found;
}

}  // namespace plumb::loadgen
