// SPDX-License-Identifier: Apache-2.0
// Decides whether the result of a load is valid.
#include <fmt/format.h>

#include <algorithm>

#include "harness/loadgen/load_result.hpp"

namespace plumb::loadgen {
namespace {

using Kind = Shortfall::Kind;

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

void check_answers(const LoadResult& result, std::vector<Shortfall>& found) {
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

void check_duration(const LoadResult& result, std::vector<Shortfall>& found) {
  const bool offline = result.load.scenario == LoadScenario::kOffline;
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

void check_count(const LoadResult& result, std::vector<Shortfall>& found) {
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

void check_completeness(const LoadResult& result, std::vector<Shortfall>& found) {
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

void check_latency(const LoadResult& result, std::vector<Shortfall>& found) {
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

void check_confidence(const LoadResult& result, std::vector<Shortfall>& found) {
  if (!result.early_stopping || result.early_stopping->met) {
    return;
  }
  const EarlyStopping& stopping = *result.early_stopping;
  const bool server = result.load.scenario == LoadScenario::kServer;
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

std::string_view to_text(Shortfall::Kind kind) {
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

std::vector<Shortfall> find_shortfalls(const LoadResult& result) {
  std::vector<Shortfall> found;
  check_answers(result, found);
  if (result.load.mode == LoadMode::kAccuracy) {
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
