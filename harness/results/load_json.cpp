// SPDX-License-Identifier: Apache-2.0
// How a load is written as JSON, and read.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/results/disturbance_json.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/load_execution.hpp"

namespace plumb {
namespace {

using Json = nlohmann::json;
using Nanoseconds = std::chrono::nanoseconds;

constexpr std::size_t kMostShortfalls = 100;
constexpr std::size_t kMostProbes = 1'000;
constexpr std::size_t kMostBuckets = 10'000;
constexpr double kLongest = 1e9;  // seconds; far below what nanoseconds can count

Json seconds(Nanoseconds time) {
  return Seconds(time).count();
}

Nanoseconds nanoseconds_of(double seconds, const char* name) {
  if (!(seconds >= -kLongest && seconds <= kLongest)) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is {} s: too long", name, seconds));
  }
  return std::chrono::round<Nanoseconds>(Seconds(seconds));
}

Nanoseconds nanoseconds(const JsonObject& object, const char* name) {
  return nanoseconds_of(object.number(name), name);
}

std::optional<Nanoseconds> optional_nanoseconds(const JsonObject& object, const char* name) {
  const std::optional<double> value = object.optional_number(name);
  return value ? std::optional(nanoseconds_of(*value, name)) : std::nullopt;
}

std::uint64_t count(const JsonObject& object, const char* name) {
  return static_cast<std::uint64_t>(object.integer(name, 0, JsonObject::kHighest));
}

std::optional<std::uint64_t> optional_count(const JsonObject& object, const char* name) {
  return object.has(name) ? std::optional(count(object, name)) : std::nullopt;
}

/// Reads one of a few values by its name.
template <typename Value, std::size_t kCount>
Value one_of(const JsonObject& object, const char* name, const std::array<Value, kCount>& values) {
  const std::string& text = object.text(name);
  for (const Value value : values) {
    if (to_text(value) == text) {
      return value;
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("field '{}' has the unknown value '{}'", name, text.substr(0, 64)));
}

constexpr std::array kScenarios{LoadScenario::kSingleStream,
                                LoadScenario::kMultiStream,
                                LoadScenario::kServer,
                                LoadScenario::kOffline};
constexpr std::array kModes{LoadMode::kPerformance, LoadMode::kAccuracy};
constexpr std::array kPurposes{
    PeakProbe::Purpose::kUnloaded, PeakProbe::Purpose::kProbe, PeakProbe::Purpose::kConfirmation};
constexpr std::array kShortfalls{Shortfall::Kind::kDuration,
                                 Shortfall::Kind::kCount,
                                 Shortfall::Kind::kLatency,
                                 Shortfall::Kind::kConfidence,
                                 Shortfall::Kind::kDropped,
                                 Shortfall::Kind::kFailed,
                                 Shortfall::Kind::kMiscounted};

Json to_value(const LoadSeeds& seeds) {
  return {{"samples", std::to_string(seeds.samples)}, {"schedule", std::to_string(seeds.schedule)}};
}

std::uint64_t seed_from(const JsonObject& object, const char* name) {
  const std::string& text = object.text(name);
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, seed).ptr != end) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is not a seed of 64 bits", name));
  }
  return seed;
}

LoadSeeds seeds_from(const JsonObject& object) {
  return {seed_from(object, "samples"), seed_from(object, "schedule")};
}

Json to_value(const RequestedLoad& load) {
  return {{"scenario", to_text(load.scenario)},
          {"mode", to_text(load.mode)},
          {"minimum_duration_seconds", or_null(load.minimum_duration)},
          {"fixed_duration_seconds", or_null(load.fixed_duration)},
          {"maximum_duration_seconds", or_null(load.maximum_duration)},
          {"minimum_queries", or_null(load.minimum_queries)},
          {"samples_per_query", or_null(load.samples_per_query)},
          {"percentile", or_null(load.percentile)},
          {"latency_limit_seconds", or_null(load.latency_limit)},
          {"target_rate", or_null(load.target_rate)},
          {"expected_rate", or_null(load.expected_rate)},
          {"warm_up_seconds", or_null(load.warm_up)},
          {"stall_limit_seconds", or_null(load.stall_limit)},
          {"loaded_samples", or_null(load.loaded_samples)},
          {"total_samples", load.total_samples},
          {"seeds", to_value(load.seeds)}};
}

RequestedLoad requested_from(const JsonObject& object) {
  RequestedLoad load;
  load.scenario = one_of(object, "scenario", kScenarios);
  load.mode = one_of(object, "mode", kModes);
  load.minimum_duration = object.optional_seconds("minimum_duration_seconds");
  load.fixed_duration = object.optional_seconds("fixed_duration_seconds");
  load.maximum_duration = object.optional_seconds("maximum_duration_seconds");
  load.minimum_queries = optional_count(object, "minimum_queries");
  load.samples_per_query = optional_count(object, "samples_per_query");
  load.percentile = object.optional_number("percentile");
  load.latency_limit = object.optional_seconds("latency_limit_seconds");
  load.target_rate = object.optional_number("target_rate");
  load.expected_rate = object.optional_number("expected_rate");
  load.warm_up = object.optional_seconds("warm_up_seconds");
  load.stall_limit = object.optional_seconds("stall_limit_seconds");
  load.loaded_samples = optional_count(object, "loaded_samples");
  load.total_samples = count(object, "total_samples");
  load.seeds = seeds_from(object.object("seeds"));
  return load;
}

Json to_value(const EffectiveLoad& load) {
  return {{"scenario", to_text(load.scenario)},
          {"mode", to_text(load.mode)},
          {"minimum_duration_seconds", seconds(load.minimum_duration)},
          {"fixed_duration", load.fixed_duration},
          {"maximum_duration_seconds", or_null(load.maximum_duration)},
          {"minimum_queries", load.minimum_queries},
          {"samples_per_query", load.samples_per_query},
          {"percentile", load.rule.percentile},
          {"confidence", load.rule.confidence},
          {"latency_limit_seconds", or_null(load.latency_limit)},
          {"target_rate", or_null(load.target_rate)},
          {"warm_up_seconds", seconds(load.warm_up)},
          {"stall_limit_seconds", seconds(load.stall_limit)},
          {"over_latency_at_most", or_null(load.over_latency_at_most)},
          {"loaded_samples", load.loaded_samples},
          {"total_samples", load.total_samples},
          {"seeds", to_value(load.seeds)}};
}

EffectiveLoad effective_from(const JsonObject& object) {
  EffectiveLoad load;
  load.scenario = one_of(object, "scenario", kScenarios);
  load.mode = one_of(object, "mode", kModes);
  load.minimum_duration = nanoseconds(object, "minimum_duration_seconds");
  load.fixed_duration = object.boolean("fixed_duration");
  load.maximum_duration = optional_nanoseconds(object, "maximum_duration_seconds");
  load.minimum_queries = count(object, "minimum_queries");
  load.samples_per_query = count(object, "samples_per_query");
  load.rule.percentile = object.number("percentile");
  load.rule.confidence = object.number("confidence");
  load.latency_limit = optional_nanoseconds(object, "latency_limit_seconds");
  load.target_rate = object.optional_number("target_rate");
  load.warm_up = nanoseconds(object, "warm_up_seconds");
  load.stall_limit = nanoseconds(object, "stall_limit_seconds");
  load.over_latency_at_most = optional_count(object, "over_latency_at_most");
  load.loaded_samples = count(object, "loaded_samples");
  load.total_samples = count(object, "total_samples");
  load.seeds = seeds_from(object.object("seeds"));
  return load;
}

/// Names a percentile: "p99_seconds", "p99.9_seconds".
std::string percentile_name(double percent) {
  return fmt::format("p{:g}_seconds", percent);
}

Json to_value(const LatencySummary& latency) {
  Json value{{"count", latency.count},
             {"min_seconds", seconds(latency.min)},
             {"mean_seconds", seconds(latency.mean)},
             {"max_seconds", seconds(latency.max)},
             {"p50_low_seconds", seconds(latency.median_low)},
             {"p50_high_seconds", seconds(latency.median_high)}};
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    value[percentile_name(LatencySummary::kPercentiles[i])] = seconds(latency.percentiles[i]);
  }
  return value;
}

LatencySummary latency_from(const JsonObject& object) {
  LatencySummary latency;
  latency.count = count(object, "count");
  latency.min = nanoseconds(object, "min_seconds");
  latency.mean = nanoseconds(object, "mean_seconds");
  latency.max = nanoseconds(object, "max_seconds");
  latency.median_low = nanoseconds(object, "p50_low_seconds");
  latency.median_high = nanoseconds(object, "p50_high_seconds");
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    latency.percentiles[i] =
        nanoseconds(object, percentile_name(LatencySummary::kPercentiles[i]).c_str());
  }
  return latency;
}

Json to_value(const EarlyStopping& stopping) {
  return {{"met", stopping.met},
          {"queries", stopping.queries},
          {"needed", stopping.needed},
          {"over", stopping.over},
          {"dropped", stopping.dropped},
          {"estimate_99_seconds", or_null(stopping.estimate_99)},
          {"estimate_seconds", or_null(stopping.estimate)}};
}

EarlyStopping stopping_from(const JsonObject& object) {
  EarlyStopping stopping;
  stopping.met = object.boolean("met");
  stopping.queries = count(object, "queries");
  stopping.needed = count(object, "needed");
  stopping.over = count(object, "over");
  stopping.dropped = count(object, "dropped");
  stopping.estimate_99 = optional_nanoseconds(object, "estimate_99_seconds");
  stopping.estimate = optional_nanoseconds(object, "estimate_seconds");
  return stopping;
}

Json to_value(const LoadResult& result) {
  Json shortfalls = Json::array();
  for (const Shortfall& each : result.shortfalls) {
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
          {"last_issue_seconds", seconds(result.last_issue)},
          {"last_completion_seconds", seconds(result.last_completion)},
          {"sample_latency", to_value(result.sample_latency)},
          {"query_latency", to_value(result.query_latency)},
          {"percentile_seconds", seconds(result.percentile_latency)},
          {"early_stopping", result.early_stopping ? to_value(*result.early_stopping) : Json()},
          {"lateness", result.lateness ? to_value(*result.lateness) : Json()},
          {"queries_per_second", result.queries_per_second},
          {"samples_per_second", result.samples_per_second},
          {"scheduled_per_second", result.scheduled_per_second}};
}

LoadResult result_from(const JsonObject& object) {
  LoadResult result;
  result.load = effective_from(object.object("effective"));
  result.system = object.text("system");
  for (const Json& entry : object.array("shortfalls", kMostShortfalls)) {
    const JsonObject each(entry);
    result.shortfalls.push_back({one_of(each, "kind", kShortfalls),
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
                      {"percentile_seconds", seconds(probe.percentile_latency)},
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
  for (const Json& entry : object.array("probes", kMostProbes)) {
    const JsonObject probe(entry);
    peak.probes.push_back({.purpose = one_of(probe, "purpose", kPurposes),
                           .rate = probe.number("rate"),
                           .valid = probe.boolean("valid"),
                           .queries = count(probe, "queries"),
                           .percentile_latency = nanoseconds(probe, "percentile_seconds"),
                           .reason = probe.text("reason")});
  }
  return peak;
}

Json batcher_value(const LoadExecution& load) {
  Json buckets = Json::array();
  for (const BucketUse& use : load.buckets) {
    buckets.push_back({{"bucket", use.bucket}, {"batches", use.batches}, {"samples", use.samples}});
  }
  return {{"direct", load.direct},
          {"maximum_batch", load.batches.maximum_batch},
          {"timeout_seconds", seconds(load.batches.timeout)},
          {"lanes", load.batches.lanes},
          {"buckets", std::move(buckets)}};
}

void read_batcher(const JsonObject& object, LoadExecution& load) {
  load.direct = object.boolean("direct");
  load.batches.maximum_batch = count(object, "maximum_batch");
  load.batches.timeout = nanoseconds(object, "timeout_seconds");
  load.batches.lanes = count(object, "lanes");
  for (const Json& entry : object.array("buckets", kMostBuckets)) {
    const JsonObject use(entry);
    load.buckets.push_back({count(use, "bucket"), count(use, "batches"), count(use, "samples")});
  }
}

}  // namespace

std::string to_json(const LoadExecution& load) {
  const std::optional<LoadScore> score = score_of(load);
  return Json{
      {"mode", load.mode},
      {"model", load.model},
      {"scenario", load.scenario},
      {"outcome", to_text(load.outcome.kind)},
      {"reason", load.outcome.reason},
      {"verdict", to_text(verdict_of(load))},
      {"score",
       score ? Json{{"name", score->name}, {"unit", score->unit}, {"value", or_null(score->value)}}
             : Json()},
      {"requested", to_value(load.requested)},
      {"result", load.result ? to_value(*load.result) : Json()},
      {"peak", load.peak ? to_value(*load.peak) : Json()},
      {"batcher", batcher_value(load)},
      {"inputs_per_sample", load.inputs_per_sample},
      {"copies_counted", true},
      {"memory_bytes", load.memory.value},
      {"reorders", load.reorders},
      {"floor_seconds", load.floor.count()},
      {"preparation_seconds", load.preparation.count()},
      {"disturbance", disturbance_json(load.disturbance)},
      {"started", to_text(load.started)},
      {"wall_seconds", load.wall.count()},
      {"process", load.process}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

LoadExecution load_execution_from_json(std::string_view text) {
  const Json value = parse_json(text);
  const JsonObject object(value);
  LoadExecution load;
  load.mode = object.text("mode");
  load.model = object.text("model");
  load.scenario = object.text("scenario");
  const auto outcome = parse_outcome_kind(object.text("outcome"));
  if (!outcome) {
    throw Error(Error::Kind::kUser, "field 'outcome' has an unknown value");
  }
  load.outcome = {*outcome, object.text("reason")};
  load.requested = requested_from(object.object("requested"));
  if (object.has("result")) {
    load.result = result_from(object.object("result"));
  }
  if (object.has("peak")) {
    load.peak = peak_from(object.object("peak"));
  }
  read_batcher(object.object("batcher"), load);
  load.inputs_per_sample = object.integer("inputs_per_sample", 1, JsonObject::kHighest);
  load.memory.value = object.integer("memory_bytes", 0, JsonObject::kHighest);
  load.reorders = object.integer("reorders", 0, JsonObject::kHighest);
  load.floor = object.seconds("floor_seconds");
  load.preparation = object.seconds("preparation_seconds");
  load.disturbance = disturbance_from(object.object("disturbance"));
  load.started = object.time("started");
  load.wall = object.seconds("wall_seconds");
  load.process = object.integer("process", 0, JsonObject::kHighest);
  return load;
}

}  // namespace plumb
