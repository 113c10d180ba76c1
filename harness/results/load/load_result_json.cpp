// SPDX-License-Identifier: Apache-2.0
#include "harness/results/load/load_result_json.hpp"

#include "harness/results/load/load_fields.hpp"
#include "harness/results/load/load_settings_json.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxShortfalls = 100;
constexpr std::size_t kMaxProbes = 1'000;

constexpr std::array kPurposes{loadgen::PeakProbe::Purpose::kUnloaded,
                               loadgen::PeakProbe::Purpose::kProbe,
                               loadgen::PeakProbe::Purpose::kConfirmation};
constexpr std::array kShortfalls{loadgen::Shortfall::Kind::kDuration,
                                 loadgen::Shortfall::Kind::kCount,
                                 loadgen::Shortfall::Kind::kLatency,
                                 loadgen::Shortfall::Kind::kConfidence,
                                 loadgen::Shortfall::Kind::kDropped,
                                 loadgen::Shortfall::Kind::kFailed,
                                 loadgen::Shortfall::Kind::kMiscounted};

/// Returns the field of a percentile: "p99_seconds", "p99.9_seconds".
std::string percentile_name(double percent) {
  return fmt::format("p{:g}_seconds", percent);
}

Json to_value(const loadgen::LatencySummary& latency) {
  Json value{{"count", latency.count},
             {"min_seconds", seconds_value(latency.min)},
             {"mean_seconds", seconds_value(latency.mean)},
             {"max_seconds", seconds_value(latency.max)},
             {"p50_low_seconds", seconds_value(latency.median_low)},
             {"p50_high_seconds", seconds_value(latency.median_high)}};
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    value[percentile_name(loadgen::LatencySummary::kPercentiles[i])] =
        seconds_value(latency.percentiles[i]);
  }
  return value;
}

loadgen::LatencySummary latency_from(const JsonObject& object) {
  loadgen::LatencySummary latency;
  latency.count = count(object, "count");
  latency.min = nanoseconds(object, "min_seconds");
  latency.mean = nanoseconds(object, "mean_seconds");
  latency.max = nanoseconds(object, "max_seconds");
  latency.median_low = nanoseconds(object, "p50_low_seconds");
  latency.median_high = nanoseconds(object, "p50_high_seconds");
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    latency.percentiles[i] =
        nanoseconds(object, percentile_name(loadgen::LatencySummary::kPercentiles[i]).c_str());
  }
  return latency;
}

Json to_value(const loadgen::EarlyStopping& stopping) {
  return {{"met", stopping.met},
          {"queries", stopping.queries},
          {"needed", stopping.needed},
          {"over", stopping.over},
          {"dropped", stopping.dropped},
          {"estimate_99_seconds", or_null(stopping.estimate_99)},
          {"estimate_seconds", or_null(stopping.estimate)}};
}

loadgen::EarlyStopping stopping_from(const JsonObject& object) {
  loadgen::EarlyStopping stopping;
  stopping.met = object.boolean("met");
  stopping.queries = count(object, "queries");
  stopping.needed = count(object, "needed");
  stopping.over = count(object, "over");
  stopping.dropped = count(object, "dropped");
  stopping.estimate_99 = optional_nanoseconds(object, "estimate_99_seconds");
  stopping.estimate = optional_nanoseconds(object, "estimate_seconds");
  return stopping;
}

}  // namespace

Json to_value(const loadgen::LoadResult& result) {
  Json shortfalls = Json::array();
  for (const loadgen::Shortfall& each : result.shortfalls) {
    shortfalls.push_back({{"kind", to_text(each.kind)},
                          {"required", each.required},
                          {"actual", each.actual},
                          {"text", each.text}});
  }
  return {{"effective", to_value(result.load)},
          {"system", result.system},
          {"valid", result.valid()},
          {"shortfalls", std::move(shortfalls)},
          {"queries_issued", result.queries_issued},
          {"queries_completed", result.queries_completed},
          {"samples_issued", result.samples_issued},
          {"samples_completed", result.samples_completed},
          {"samples_failed", result.samples_failed},
          {"samples_dropped", result.samples_dropped},
          {"unknown_answers", result.unknown_answers},
          {"over_latency", result.over_latency},
          {"first_failure", result.first_failure},
          {"out_of_budget", result.out_of_budget},
          {"stopped_as_lost", result.stopped_as_lost},
          {"begin_seconds", seconds_value(result.begin)},
          {"last_issue_seconds", seconds_value(result.last_issue)},
          {"last_completion_seconds", seconds_value(result.last_completion)},
          {"sample_latency", to_value(result.sample_latency)},
          {"query_latency", to_value(result.query_latency)},
          {"percentile_seconds", seconds_value(result.percentile_latency)},
          {"early_stopping", result.early_stopping ? to_value(*result.early_stopping) : Json()},
          {"lateness", result.lateness ? to_value(*result.lateness) : Json()},
          {"queries_per_second", result.queries_per_second},
          {"samples_per_second", result.samples_per_second},
          {"scheduled_per_second", result.scheduled_per_second}};
}

loadgen::LoadResult result_from(const JsonObject& object) {
  loadgen::LoadResult result;
  result.load = effective_from(object.object("effective"));
  result.system = object.text("system");
  for (const Json& entry : object.array("shortfalls", kMaxShortfalls)) {
    const JsonObject each(entry);
    result.shortfalls.push_back({read_one_of(each, "kind", kShortfalls),
                                 each.number("required"),
                                 each.number("actual"),
                                 each.text("text")});
  }
  result.queries_issued = count(object, "queries_issued");
  result.queries_completed = count(object, "queries_completed");
  result.samples_issued = count(object, "samples_issued");
  result.samples_completed = count(object, "samples_completed");
  result.samples_failed = count(object, "samples_failed");
  result.samples_dropped = count(object, "samples_dropped");
  result.unknown_answers = count(object, "unknown_answers");
  result.over_latency = count(object, "over_latency");
  result.first_failure = object.text("first_failure");
  result.out_of_budget = object.boolean("out_of_budget");
  result.stopped_as_lost = object.boolean("stopped_as_lost");
  if (object.has("begin_seconds")) {  // of earlier versions it is unknown
    result.begin = nanoseconds(object, "begin_seconds");
  }
  result.last_issue = nanoseconds(object, "last_issue_seconds");
  result.last_completion = nanoseconds(object, "last_completion_seconds");
  result.sample_latency = latency_from(object.object("sample_latency"));
  result.query_latency = latency_from(object.object("query_latency"));
  result.percentile_latency = nanoseconds(object, "percentile_seconds");
  if (object.has("early_stopping")) {
    result.early_stopping = stopping_from(object.object("early_stopping"));
  }
  if (object.has("lateness")) {
    result.lateness = latency_from(object.object("lateness"));
  }
  result.queries_per_second = object.number("queries_per_second");
  result.samples_per_second = object.number("samples_per_second");
  result.scheduled_per_second = object.number("scheduled_per_second");
  return result;
}

Json to_value(const LoadPeak& peak) {
  Json probes = Json::array();
  for (const LoadProbe& probe : peak.probes) {
    probes.push_back({{"purpose", to_text(probe.purpose)},
                      {"rate", probe.rate},
                      {"valid", probe.valid},
                      {"queries", probe.queries},
                      {"percentile_seconds", seconds_value(probe.percentile_latency)},
                      {"reason", probe.reason}});
  }
  return {{"rate", or_null(peak.rate)},
          {"highest_passed", peak.highest_passed},
          {"lowest_failed", or_null(peak.lowest_failed)},
          {"reason", peak.reason},
          {"probes", std::move(probes)}};
}

LoadPeak peak_from(const JsonObject& object) {
  LoadPeak peak;
  peak.rate = object.optional_number("rate");
  peak.highest_passed = object.number("highest_passed");
  peak.lowest_failed = object.optional_number("lowest_failed");
  peak.reason = object.text("reason");
  for (const Json& entry : object.array("probes", kMaxProbes)) {
    const JsonObject probe(entry);
    peak.probes.push_back({.purpose = read_one_of(probe, "purpose", kPurposes),
                           .rate = probe.number("rate"),
                           .valid = probe.boolean("valid"),
                           .queries = count(probe, "queries"),
                           .percentile_latency = nanoseconds(probe, "percentile_seconds"),
                           .reason = probe.text("reason")});
  }
  return peak;
}

}  // namespace plumb::results
