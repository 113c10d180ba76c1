// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol_conversion.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/worker/protocol.pb.h"
#include "harness/worker/protocol_error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMaximumKeyText = std::size_t{64} << 10;
constexpr double kLongestSeconds = 1e9;
constexpr std::uint64_t kMostRepetitions = std::uint64_t{1} << 40;

constexpr std::array kOutcomes{
    std::pair{Outcome::Kind::kOk, protocol::Outcome::OK},
    std::pair{Outcome::Kind::kUnsupported, protocol::Outcome::UNSUPPORTED},
    std::pair{Outcome::Kind::kOutOfMemory, protocol::Outcome::OUT_OF_MEMORY},
    std::pair{Outcome::Kind::kWrongResult, protocol::Outcome::WRONG_RESULT},
    std::pair{Outcome::Kind::kTimedOut, protocol::Outcome::TIMED_OUT},
    std::pair{Outcome::Kind::kCrashed, protocol::Outcome::CRASHED},
    std::pair{Outcome::Kind::kUnstable, protocol::Outcome::UNSTABLE},
    std::pair{Outcome::Kind::kSkipped, protocol::Outcome::SKIPPED},
};
constexpr std::array kCaches{
    std::pair{CacheMode::kNone, protocol::CACHE_NONE},
    std::pair{CacheMode::kWeights, protocol::CACHE_WEIGHTS},
    std::pair{CacheMode::kAll, protocol::CACHE_ALL},
};
constexpr std::array kPurposes{
    std::pair{Purpose::kRace, protocol::PURPOSE_RACE},
    std::pair{Purpose::kFull, protocol::PURPOSE_FULL},
    std::pair{Purpose::kConfirm, protocol::PURPOSE_CONFIRM},
};
constexpr std::array kErrors{
    std::pair{Error::Kind::kInternal, protocol::Error::INTERNAL},
    std::pair{Error::Kind::kUser, protocol::Error::USER},
    std::pair{Error::Kind::kEnvironment, protocol::Error::ENVIRONMENT},
    std::pair{Error::Kind::kRefused, protocol::Error::REFUSED},
    std::pair{Error::Kind::kTryAgain, protocol::Error::TRY_AGAIN},
};

[[noreturn]] void fail_field(const char* field, const std::string& value) {
  throw ProtocolError(ProtocolError::Kind::kBroken,
                      fmt::format("field '{}' of a message is {}", field, value));
}

template <typename Table, typename Value>
auto outward(const Table& table, Value value) {
  for (const auto& [ours, theirs] : table) {
    if (ours == value) {
      return theirs;
    }
  }
  throw Error(
      Error::Kind::kInternal,
      fmt::format("enumerator {} has no form in the worker protocol; please report this bug",
                  static_cast<int>(value)));
}

template <typename Table>
auto inward(const Table& table, const char* field, int value) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == value) {
      return ours;
    }
  }
  fail_field(field, fmt::format("{}, which is no enumerator", value));
}

void require(const char* field, bool present) {
  if (!present) {
    fail_field(field, "missing or unknown");
  }
}

double bounded(const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail_field(field, fmt::format("{}, not between {} and {}", value, low, high));
  }
  return value;
}

template <std::integral Number>
Number bounded(const char* field,
               Number value,
               Number low,
               Number high = std::numeric_limits<Number>::max()) {
  if (value < low || value > high) {
    fail_field(field, fmt::format("{}, not between {} and {}", value, low, high));
  }
  return value;
}

Seconds seconds(const char* field, double value) {
  return Seconds(bounded(field, value, 0.0, kLongestSeconds));
}

double rate(const char* field, double value) {
  return bounded(field, value, 0.0, 1e30);
}

void bound_list(const char* field, std::size_t size, std::size_t most) {
  if (size > most) {
    fail_field(field, fmt::format("a list of {}, above the limit of {}", size, most));
  }
}

void check_name(const char* field, const std::string& name) {
  if (!is_attribute_name(name)) {
    fail_field(field, "named with something that is no name");
  }
}

Attributes attributes_of(const protocol::Measurement& message) {
  bound_list("attributes", message.attributes().size(), kMostAttributes);
  Attributes attributes;
  for (const auto& [name, text] : message.attributes()) {
    check_name("attributes", name);
    bound_list("attributes", text.size(), kMostAttributeText);
    attributes.emplace(name, text);
  }
  return attributes;
}

Readings readings_of(const protocol::Measurement& message) {
  constexpr double kMost = 1e30;
  bound_list("readings", message.readings().size(), kMostAttributes);
  Readings readings;
  for (const auto& [name, reading] : message.readings()) {
    check_name("readings", name);
    readings[name] = {bounded("readings.median", reading.median(), -kMost, kMost),
                      bounded("readings.low", reading.low(), -kMost, kMost),
                      bounded("readings.high", reading.high(), -kMost, kMost),
                      bounded("readings.n", std::int64_t{reading.n()}, std::int64_t{1})};
  }
  return readings;
}

protocol::SampleSummary summary_message(const SampleSummary& summary) {
  protocol::SampleSummary message;
  message.set_n(summary.n);
  message.set_median_seconds(summary.median.count());
  message.set_low_seconds(summary.interval.low.count());
  message.set_high_seconds(summary.interval.high.count());
  message.set_min_seconds(summary.min.count());
  message.set_p90_seconds(summary.p90.count());
  message.set_mean_seconds(summary.mean.count());
  message.set_min_has_company(summary.min_has_company);
  return message;
}

SampleSummary summary_of(const protocol::SampleSummary& message) {
  SampleSummary summary;
  summary.n = bounded("summary.n", message.n(), std::uint64_t{0}, std::uint64_t{kMaximumSamples});
  summary.median = seconds("summary.median_seconds", message.median_seconds());
  summary.interval = {seconds("summary.low_seconds", message.low_seconds()),
                      seconds("summary.high_seconds", message.high_seconds())};
  summary.min = seconds("summary.min_seconds", message.min_seconds());
  summary.p90 = seconds("summary.p90_seconds", message.p90_seconds());
  summary.mean = seconds("summary.mean_seconds", message.mean_seconds());
  summary.min_has_company = message.min_has_company();
  return summary;
}

protocol::Disturbance disturbance_message(const Disturbance& disturbance) {
  protocol::Disturbance message;
  message.set_involuntary_switches(disturbance.involuntary_switches);
  if (disturbance.steal_ratio) {
    message.set_steal_ratio(*disturbance.steal_ratio);
  }
  if (disturbance.load) {
    message.set_load(*disturbance.load);
  }
  if (disturbance.pressure_ratio) {
    message.set_pressure_ratio(*disturbance.pressure_ratio);
  }
  message.set_disturbed(disturbance.disturbed);
  return message;
}

Disturbance disturbance_of(const protocol::Disturbance& message) {
  Disturbance disturbance;
  disturbance.involuntary_switches = bounded("disturbance.involuntary_switches",
                                             std::int64_t{message.involuntary_switches()},
                                             std::int64_t{0});
  // Ratios of counters read at different moments may pass 1 a little, and a load less its own
  // thread 0.
  if (message.has_steal_ratio()) {
    disturbance.steal_ratio = bounded("disturbance.steal_ratio", message.steal_ratio(), -1e3, 1e3);
  }
  if (message.has_load()) {
    disturbance.load = bounded("disturbance.load", message.load(), -1e6, 1e6);
  }
  if (message.has_pressure_ratio()) {
    disturbance.pressure_ratio =
        bounded("disturbance.pressure_ratio", message.pressure_ratio(), -1e3, 1e3);
  }
  disturbance.disturbed = message.disturbed();
  return disturbance;
}

}  // namespace

protocol::Outcome to_protocol(const Outcome& outcome) {
  protocol::Outcome message;
  message.set_kind(outward(kOutcomes, outcome.kind));
  message.set_reason(outcome.reason);
  return message;
}

Outcome from_protocol(const protocol::Outcome& message) {
  require("outcome.kind", message.has_kind());
  return {inward(kOutcomes, "outcome.kind", message.kind()), message.reason()};
}

protocol::LayerKey to_protocol(const LayerKey& key) {
  protocol::LayerKey message;
  message.set_text(key.text);
  return message;
}

LayerKey from_protocol(const protocol::LayerKey& message) {
  if (message.text().empty()) {
    fail_field("key.text", "empty");
  }
  bound_list("key.text", message.text().size(), kMaximumKeyText);
  return {message.text()};
}

protocol::SamplingPlan to_protocol(const SamplingPlan& plan) {
  protocol::SamplingPlan message;
  message.set_warm_up_at_least_seconds(plan.warm_up_at_least.count());
  message.set_warm_up_at_most_seconds(plan.warm_up_at_most.count());
  message.set_budget_seconds(plan.budget.count());
  message.set_relative_half_width(plan.relative_half_width);
  message.set_samples_at_least(plan.samples_at_least);
  message.set_samples_at_most(plan.samples_at_most);
  message.set_sample_at_least_seconds(plan.sample_at_least.count());
  message.set_repetitions_at_most(plan.repetitions_at_most);
  return message;
}

SamplingPlan from_protocol(const protocol::SamplingPlan& message) {
  SamplingPlan plan;
  plan.warm_up_at_least =
      seconds("sampling.warm_up_at_least_seconds", message.warm_up_at_least_seconds());
  plan.warm_up_at_most =
      seconds("sampling.warm_up_at_most_seconds", message.warm_up_at_most_seconds());
  plan.budget = seconds("sampling.budget_seconds", message.budget_seconds());
  plan.relative_half_width =
      bounded("sampling.relative_half_width", message.relative_half_width(), 0.0, 1e6);
  plan.samples_at_least = bounded("sampling.samples_at_least",
                                  message.samples_at_least(),
                                  std::uint64_t{1},
                                  std::uint64_t{kMaximumSamples});
  plan.samples_at_most = bounded("sampling.samples_at_most",
                                 message.samples_at_most(),
                                 std::uint64_t{1},
                                 std::uint64_t{kMaximumSamples});
  plan.sample_at_least =
      seconds("sampling.sample_at_least_seconds", message.sample_at_least_seconds());
  plan.repetitions_at_most = bounded("sampling.repetitions_at_most",
                                     message.repetitions_at_most(),
                                     std::uint64_t{1},
                                     kMostRepetitions);
  return plan;
}

protocol::MeasureRequest to_protocol(const MeasureRequest& request) {
  protocol::MeasureRequest message;
  *message.mutable_key() = to_protocol(request.key);
  for (const CacheMode cache : request.caches) {
    message.add_caches(outward(kCaches, cache));
  }
  for (const std::string& variant : request.variants) {
    message.add_variants(variant);
  }
  message.set_purpose(outward(kPurposes, request.purpose));
  *message.mutable_sampling() = to_protocol(request.sampling);
  message.set_race_budget_seconds(request.race_budget.count());
  message.set_race_margin(request.race_margin);
  message.set_seed(request.seed);
  message.set_verify(request.verify);
  message.set_verify_fully_below_macs(request.verify_fully_below_macs);
  message.set_disturbed_attempts(request.disturbed_attempts);
  return message;
}

MeasureRequest from_protocol(const protocol::MeasureRequest& message) {
  MeasureRequest request;
  request.key = from_protocol(message.key());
  request.caches.clear();
  bound_list("caches", static_cast<std::size_t>(message.caches_size()), kCaches.size());
  for (const int cache : message.caches()) {
    request.caches.push_back(inward(kCaches, "caches", cache));
  }
  bound_list("variants", static_cast<std::size_t>(message.variants_size()), kMaximumVariants);
  request.variants.assign(message.variants().begin(), message.variants().end());
  require("purpose", message.has_purpose());
  request.purpose = inward(kPurposes, "purpose", message.purpose());
  request.sampling = from_protocol(message.sampling());
  request.race_budget = seconds("race_budget_seconds", message.race_budget_seconds());
  request.race_margin = bounded("race_margin", message.race_margin(), 0.0, 1e6);
  request.seed = message.seed();
  request.verify = message.verify();
  request.verify_fully_below_macs = bounded(
      "verify_fully_below_macs", std::int64_t{message.verify_fully_below_macs()}, std::int64_t{0});
  request.disturbed_attempts = bounded("disturbed_attempts",
                                       std::int64_t{message.disturbed_attempts()},
                                       std::int64_t{0},
                                       std::int64_t{1000});
  return request;
}

protocol::Measurement to_protocol(const Measurement& row) {
  protocol::Measurement message;
  *message.mutable_key() = to_protocol(row.key);
  message.set_variant(row.variant);
  message.set_library_choice(row.library_choice);
  message.set_reference_implementation(row.reference_implementation);
  message.set_cache(outward(kCaches, row.cache));
  message.set_purpose(outward(kPurposes, row.purpose));
  *message.mutable_outcome() = to_protocol(row.outcome);
  message.mutable_samples_seconds()->Reserve(static_cast<int>(row.samples.size()));
  for (const Seconds sample : row.samples) {
    message.add_samples_seconds(sample.count());
  }
  message.set_repetitions(row.repetitions);
  *message.mutable_summary() = summary_message(row.summary);
  message.set_floor_seconds(row.floor.count());
  if (row.creation) {
    message.set_creation_seconds(row.creation->count());
  }
  if (row.first_call) {
    message.set_first_call_seconds(row.first_call->count());
  }
  if (row.reorder) {
    message.set_reorder_seconds(row.reorder->count());
  }
  message.set_workspace_bytes(row.workspace.value);
  if (row.maximum_error) {
    message.set_maximum_error(*row.maximum_error);
  }
  message.set_output_hash(row.output_hash);
  *message.mutable_disturbance() = disturbance_message(row.disturbance);
  message.set_attempt(row.attempt);
  message.set_process(row.process);
  message.set_started_microseconds(row.started.time_since_epoch().count());
  message.set_wall_seconds(row.wall.count());
  message.mutable_attributes()->insert(row.attributes.begin(), row.attributes.end());
  for (const auto& [name, reading] : row.readings) {
    protocol::Reading& added = (*message.mutable_readings())[name];
    added.set_median(reading.median);
    added.set_low(reading.low);
    added.set_high(reading.high);
    added.set_n(reading.n);
  }
  return message;
}

Measurement from_protocol(const protocol::Measurement& message) {
  Measurement row;
  row.key = from_protocol(message.key());
  row.variant = message.variant();
  row.library_choice = message.library_choice();
  row.reference_implementation = message.reference_implementation();
  require("cache", message.has_cache());
  row.cache = inward(kCaches, "cache", message.cache());
  require("purpose", message.has_purpose());
  row.purpose = inward(kPurposes, "purpose", message.purpose());
  row.outcome = from_protocol(message.outcome());
  const auto samples = static_cast<std::size_t>(message.samples_seconds_size());
  bound_list("samples_seconds", samples, kMaximumSamples);
  row.samples.reserve(samples);
  for (const double sample : message.samples_seconds()) {
    row.samples.push_back(seconds("samples_seconds", sample));
  }
  row.repetitions = bounded("repetitions", std::int64_t{message.repetitions()}, std::int64_t{1});
  row.summary = summary_of(message.summary());
  row.floor = seconds("floor_seconds", message.floor_seconds());
  if (message.has_creation_seconds()) {
    row.creation = seconds("creation_seconds", message.creation_seconds());
  }
  if (message.has_first_call_seconds()) {
    row.first_call = seconds("first_call_seconds", message.first_call_seconds());
  }
  if (message.has_reorder_seconds()) {
    row.reorder = seconds("reorder_seconds", message.reorder_seconds());
  }
  row.workspace = {
      bounded("workspace_bytes", std::int64_t{message.workspace_bytes()}, std::int64_t{0})};
  if (message.has_maximum_error()) {
    // Infinity and NaN are errors that a wrong result really has.
    row.maximum_error = message.maximum_error();
  }
  row.output_hash = message.output_hash();
  row.disturbance = disturbance_of(message.disturbance());
  row.attempt = bounded("attempt", std::int64_t{message.attempt()}, std::int64_t{1});
  row.process = bounded("process", std::int64_t{message.process()}, std::int64_t{0});
  // Years 1970 to 9999: what RFC 3339 can write.
  row.started =
      Timestamp(std::chrono::microseconds(bounded("started_microseconds",
                                                  std::int64_t{message.started_microseconds()},
                                                  std::int64_t{0},
                                                  std::int64_t{253'402'300'799'999'999})));
  row.wall = seconds("wall_seconds", message.wall_seconds());
  row.attributes = attributes_of(message);
  row.readings = readings_of(message);
  return row;
}

protocol::Environment to_protocol(const Environment& environment) {
  protocol::Environment message;
  message.mutable_identity()->insert(environment.identity.begin(), environment.identity.end());
  message.mutable_facts()->insert(environment.facts.begin(), environment.facts.end());
  return message;
}

Environment from_protocol(const protocol::Environment& message) {
  Environment environment;
  environment.identity.insert(message.identity().begin(), message.identity().end());
  environment.facts.insert(message.facts().begin(), message.facts().end());
  return environment;
}

protocol::Variants to_protocol(const std::vector<Variant>& variants) {
  protocol::Variants message;
  for (const Variant& variant : variants) {
    protocol::Variant& added = *message.add_variant();
    added.set_text(variant.text);
    added.set_library_choice(variant.library_choice);
    added.set_reference_implementation(variant.reference_implementation);
    added.set_channels_last(variant.channels_last);
  }
  return message;
}

std::vector<Variant> from_protocol(const protocol::Variants& message) {
  bound_list("variants", static_cast<std::size_t>(message.variant_size()), kMaximumVariants);
  std::vector<Variant> variants;
  for (const protocol::Variant& variant : message.variant()) {
    variants.push_back({variant.text(),
                        variant.library_choice(),
                        variant.reference_implementation(),
                        variant.channels_last()});
  }
  return variants;
}

protocol::Calibration to_protocol(const Calibration& calibration) {
  protocol::Calibration message;
  message.set_peak_f32_flops_per_second(calibration.peak_f32.value);
  message.set_peak_bf16_flops_per_second(calibration.peak_bf16.value);
  message.set_memory_bytes_per_second(calibration.memory_bandwidth.value);
  message.set_last_level_cache_bytes(calibration.last_level_cache.value);
  message.set_floor_seconds(calibration.floor.count());
  message.set_timer_tick_seconds(calibration.timer_tick.count());
  message.set_parallel_efficiency(calibration.parallel_efficiency);
  if (calibration.theoretical_f32) {
    message.set_theoretical_f32_flops_per_second(calibration.theoretical_f32->value);
  }
  return message;
}

Calibration from_protocol(const protocol::Calibration& message) {
  Calibration calibration;
  calibration.peak_f32 = {rate("peak_f32_flops_per_second", message.peak_f32_flops_per_second())};
  calibration.peak_bf16 = {
      rate("peak_bf16_flops_per_second", message.peak_bf16_flops_per_second())};
  calibration.memory_bandwidth = {
      rate("memory_bytes_per_second", message.memory_bytes_per_second())};
  calibration.last_level_cache = {bounded(
      "last_level_cache_bytes", std::int64_t{message.last_level_cache_bytes()}, std::int64_t{0})};
  calibration.floor = seconds("floor_seconds", message.floor_seconds());
  calibration.timer_tick = seconds("timer_tick_seconds", message.timer_tick_seconds());
  calibration.parallel_efficiency =
      bounded("parallel_efficiency", message.parallel_efficiency(), 0.0, 1e3);
  if (message.has_theoretical_f32_flops_per_second()) {
    calibration.theoretical_f32 = FlopsPerSecond{
        rate("theoretical_f32_flops_per_second", message.theoretical_f32_flops_per_second())};
  }
  return calibration;
}

protocol::Error to_protocol(const Error& error) {
  protocol::Error message;
  message.set_kind(outward(kErrors, error.kind()));
  message.set_text(error.what());
  return message;
}

Error from_protocol(const protocol::Error& message) {
  return {inward(kErrors, "error.kind", message.kind()), message.text()};
}

}  // namespace plumb
