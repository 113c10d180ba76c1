// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {
namespace {

constexpr std::array kCaches{
    std::pair{results::CacheMode::kNone, protocol::CACHE_NONE},
    std::pair{results::CacheMode::kWeights, protocol::CACHE_WEIGHTS},
    std::pair{results::CacheMode::kAll, protocol::CACHE_ALL},
};
constexpr std::array kPurposes{
    std::pair{results::Purpose::kRace, protocol::PURPOSE_RACE},
    std::pair{results::Purpose::kFull, protocol::PURPOSE_FULL},
    std::pair{results::Purpose::kConfirm, protocol::PURPOSE_CONFIRM},
};

void check_name(const char* field, const std::string& name) {
  if (!results::is_attribute_name(name)) {
    fail_field(field, "named with an invalid name");
  }
}

results::Attributes read_attributes(const protocol::Measurement& message) {
  check_size("attributes", message.attributes().size(), results::kMaxAttributes);
  results::Attributes attributes;
  for (const auto& [name, text] : message.attributes()) {
    check_name("attributes", name);
    check_size("attributes", text.size(), results::kMaxAttributeText);
    attributes.emplace(name, text);
  }
  return attributes;
}

results::Readings read_readings(const protocol::Measurement& message) {
  constexpr double kMost = 1e30;
  check_size("readings", message.readings().size(), results::kMaxAttributes);
  results::Readings readings;
  for (const auto& [name, reading] : message.readings()) {
    check_name("readings", name);
    readings[name] = {bounded("readings.median", reading.median(), -kMost, kMost),
                      bounded("readings.low", reading.low(), -kMost, kMost),
                      bounded("readings.high", reading.high(), -kMost, kMost),
                      bounded("readings.n", std::int64_t{reading.n()}, std::int64_t{1})};
  }
  return readings;
}

protocol::SampleSummary summary_message(const measure::SampleSummary& summary) {
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

measure::SampleSummary read_summary(const protocol::SampleSummary& message) {
  measure::SampleSummary summary;
  summary.n = bounded("summary.n", message.n(), std::uint64_t{0}, std::uint64_t{kMaxSentSamples});
  summary.median = read_time("summary.median_seconds", message.median_seconds());
  summary.interval = {read_time("summary.low_seconds", message.low_seconds()),
                      read_time("summary.high_seconds", message.high_seconds())};
  summary.min = read_time("summary.min_seconds", message.min_seconds());
  summary.p90 = read_time("summary.p90_seconds", message.p90_seconds());
  summary.mean = read_time("summary.mean_seconds", message.mean_seconds());
  summary.min_has_company = message.min_has_company();
  return summary;
}

protocol::Disturbance disturbance_message(const measure::Disturbance& disturbance) {
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

measure::Disturbance read_disturbance(const protocol::Disturbance& message) {
  measure::Disturbance disturbance;
  disturbance.involuntary_switches = bounded("disturbance.involuntary_switches",
                                             std::int64_t{message.involuntary_switches()},
                                             std::int64_t{0});
  // Ratios of counters that are read at different moments may slightly exceed 1. A load without its
  // own thread may be below 0.
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

protocol::MeasureRequest to_protocol(const MeasureRequest& request) {
  protocol::MeasureRequest message;
  *message.mutable_key() = to_protocol(request.key);
  for (const results::CacheMode cache : request.caches) {
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
  if (request.host_pace) {
    message.set_host_pace_seconds(request.host_pace->count());
  }
  message.set_in_turns(request.in_turns);
  return message;
}

MeasureRequest from_protocol(const protocol::MeasureRequest& message) {
  MeasureRequest request;
  request.key = from_protocol(message.key());
  request.caches.clear();
  check_size("caches", static_cast<std::size_t>(message.caches_size()), kCaches.size());
  for (const int cache : message.caches()) {
    request.caches.push_back(inward(kCaches, "caches", cache));
  }
  check_size("variants", static_cast<std::size_t>(message.variants_size()), kMaximumVariants);
  request.variants.assign(message.variants().begin(), message.variants().end());
  require_field("purpose", message.has_purpose());
  request.purpose = inward(kPurposes, "purpose", message.purpose());
  request.sampling = from_protocol(message.sampling());
  request.race_budget = read_time("race_budget_seconds", message.race_budget_seconds());
  request.race_margin = bounded("race_margin", message.race_margin(), 0.0, 1e6);
  request.seed = message.seed();
  request.verify = message.verify();
  request.verify_fully_below_macs = bounded(
      "verify_fully_below_macs", std::int64_t{message.verify_fully_below_macs()}, std::int64_t{0});
  request.disturbed_attempts = bounded("disturbed_attempts",
                                       std::int64_t{message.disturbed_attempts()},
                                       std::int64_t{0},
                                       std::int64_t{1000});
  if (message.has_host_pace_seconds()) {
    request.host_pace = read_time("host_pace_seconds", message.host_pace_seconds());
  }
  request.in_turns = message.in_turns();
  return request;
}

protocol::Measurement to_protocol(const results::Measurement& row) {
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
  for (const Seconds turn : row.turns) {
    message.add_turns_seconds(turn.count());
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

results::Measurement from_protocol(const protocol::Measurement& message) {
  results::Measurement row;
  row.key = from_protocol(message.key());
  row.variant = message.variant();
  row.library_choice = message.library_choice();
  row.reference_implementation = message.reference_implementation();
  require_field("cache", message.has_cache());
  row.cache = inward(kCaches, "cache", message.cache());
  require_field("purpose", message.has_purpose());
  row.purpose = inward(kPurposes, "purpose", message.purpose());
  row.outcome = from_protocol(message.outcome());
  const auto samples = static_cast<std::size_t>(message.samples_seconds_size());
  check_size("samples_seconds", samples, kMaxSentSamples);
  row.samples.reserve(samples);
  for (const double sample : message.samples_seconds()) {
    row.samples.push_back(read_time("samples_seconds", sample));
  }
  check_size("turns_seconds", static_cast<std::size_t>(message.turns_seconds_size()), samples);
  for (const double turn : message.turns_seconds()) {
    row.turns.push_back(read_time("turns_seconds", turn));
  }
  row.repetitions = bounded("repetitions", std::int64_t{message.repetitions()}, std::int64_t{1});
  row.summary = read_summary(message.summary());
  row.floor = read_time("floor_seconds", message.floor_seconds());
  if (message.has_creation_seconds()) {
    row.creation = read_time("creation_seconds", message.creation_seconds());
  }
  if (message.has_first_call_seconds()) {
    row.first_call = read_time("first_call_seconds", message.first_call_seconds());
  }
  if (message.has_reorder_seconds()) {
    row.reorder = read_time("reorder_seconds", message.reorder_seconds());
  }
  row.workspace = {
      bounded("workspace_bytes", std::int64_t{message.workspace_bytes()}, std::int64_t{0})};
  if (message.has_maximum_error()) {
    // A wrong result may really have an infinite error, or one that is not a number.
    row.maximum_error = message.maximum_error();
  }
  row.output_hash = message.output_hash();
  row.disturbance = read_disturbance(message.disturbance());
  row.attempt = bounded("attempt", std::int64_t{message.attempt()}, std::int64_t{1});
  row.process = bounded("process", std::int64_t{message.process()}, std::int64_t{0});
  // Years 1970 to 9999: what RFC 3339 can write.
  row.started =
      Timestamp(std::chrono::microseconds(bounded("started_microseconds",
                                                  std::int64_t{message.started_microseconds()},
                                                  std::int64_t{0},
                                                  std::int64_t{253'402'300'799'999'999})));
  row.wall = read_time("wall_seconds", message.wall_seconds());
  row.attributes = read_attributes(message);
  row.readings = read_readings(message);
  return row;
}

}  // namespace plumb::worker
