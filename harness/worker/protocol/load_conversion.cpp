// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <chrono>
#include <cmath>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

constexpr int kMaximumBuckets = 64;
constexpr std::uint64_t kMaximumBatch = 1U << 20U;
constexpr std::uint64_t kMaximumLanes = 1024;
constexpr std::uint64_t kMaximumDataSet = 1U << 26U;

[[noreturn]] void refuse(const char* field, const std::string& problem) {
  throw ProtocolError(ProtocolError::Kind::kBroken,
                      fmt::format("field '{}' of a message {}", field, problem));
}

std::uint64_t within(const char* field, std::uint64_t value, std::uint64_t most) {
  if (value == 0 || value > most) {
    refuse(field, fmt::format("is {}, not between 1 and {}", value, most));
  }
  return value;
}

double finite(const char* field, double value) {
  if (!std::isfinite(value)) {
    refuse(field, "is not a finite number");
  }
  return value;
}

protocol::RequestedLoad to_message(const loadgen::RequestedLoad& load) {
  protocol::RequestedLoad message;
  message.set_scenario(std::string(to_text(load.scenario)));
  const auto put = [&](const auto& value, auto set) {
    if (value) {
      (message.*set)(*value);
    }
  };
  const auto put_time = [&](const std::optional<Seconds>& value, auto set) {
    if (value) {
      (message.*set)(value->count());
    }
  };
  using M = protocol::RequestedLoad;
  put_time(load.minimum_duration, &M::set_minimum_duration_seconds);
  put_time(load.fixed_duration, &M::set_fixed_duration_seconds);
  put_time(load.maximum_duration, &M::set_maximum_duration_seconds);
  put(load.minimum_queries, &M::set_minimum_queries);
  put(load.samples_per_query, &M::set_samples_per_query);
  put(load.percentile, &M::set_percentile);
  put_time(load.latency_limit, &M::set_latency_limit_seconds);
  put(load.target_rate, &M::set_target_rate);
  put(load.expected_rate, &M::set_expected_rate);
  put_time(load.warm_up, &M::set_warm_up_seconds);
  put_time(load.stall_limit, &M::set_stall_limit_seconds);
  message.set_sample_seed(load.seeds.samples);
  message.set_schedule_seed(load.seeds.schedule);
  message.set_data_set_seed(load.seeds.data_set);
  return message;
}

loadgen::RequestedLoad read_load(const protocol::RequestedLoad& message) {
  loadgen::RequestedLoad load;
  const std::optional<loadgen::LoadScenario> scenario =
      loadgen::parse_load_scenario(message.scenario());
  if (!scenario) {
    refuse("scenario", "names no scenario");
  }
  load.scenario = *scenario;
  if (message.has_minimum_duration_seconds()) {
    load.minimum_duration =
        read_time("minimum_duration_seconds", message.minimum_duration_seconds());
  }
  if (message.has_fixed_duration_seconds()) {
    load.fixed_duration = read_time("fixed_duration_seconds", message.fixed_duration_seconds());
  }
  if (message.has_maximum_duration_seconds()) {
    load.maximum_duration =
        read_time("maximum_duration_seconds", message.maximum_duration_seconds());
  }
  if (message.has_minimum_queries()) {
    load.minimum_queries = message.minimum_queries();
  }
  if (message.has_samples_per_query()) {
    load.samples_per_query = message.samples_per_query();
  }
  if (message.has_percentile()) {
    load.percentile = finite("percentile", message.percentile());
  }
  if (message.has_latency_limit_seconds()) {
    load.latency_limit = read_time("latency_limit_seconds", message.latency_limit_seconds());
  }
  if (message.has_target_rate()) {
    load.target_rate = finite("target_rate", message.target_rate());
  }
  if (message.has_expected_rate()) {
    load.expected_rate = finite("expected_rate", message.expected_rate());
  }
  if (message.has_warm_up_seconds()) {
    load.warm_up = read_time("warm_up_seconds", message.warm_up_seconds());
  }
  if (message.has_stall_limit_seconds()) {
    load.stall_limit = read_time("stall_limit_seconds", message.stall_limit_seconds());
  }
  load.seeds = {.samples = message.sample_seed(),
                .schedule = message.schedule_seed(),
                .data_set = message.data_set_seed()};
  return load;
}

}  // namespace

protocol::LoadRequest to_protocol(const LoadRequest& request) {
  protocol::LoadRequest message;
  for (const LoadRequest::Bucket& bucket : request.buckets) {
    protocol::LoadRequest::Bucket& added = *message.add_buckets();
    added.set_samples(bucket.samples);
    *added.mutable_model() = to_protocol(bucket.model);
  }
  message.set_inputs_per_sample(static_cast<std::uint64_t>(request.inputs_per_sample));
  *message.mutable_load() = to_message(request.load);
  message.set_maximum_batch(request.batches.maximum_batch);
  message.set_timeout_seconds(Seconds(request.batches.timeout).count());
  message.set_lanes(request.batches.lanes);
  if (request.budget) {
    message.set_budget_seconds(request.budget->count());
  }
  message.set_data_set_samples(request.data_set);
  message.set_accuracy_log(request.accuracy_log.string());
  return message;
}

LoadRequest from_protocol(const protocol::LoadRequest& message) {
  LoadRequest request;
  if (message.buckets_size() == 0 || message.buckets_size() > kMaximumBuckets) {
    refuse("buckets",
           fmt::format("is a list of {}, not of 1 to {}", message.buckets_size(), kMaximumBuckets));
  }
  for (const protocol::LoadRequest::Bucket& bucket : message.buckets()) {
    const std::uint64_t least = request.buckets.empty() ? 1 : request.buckets.back().samples + 1;
    const std::uint64_t samples = within("samples", bucket.samples(), kMaximumBatch);
    if (samples < least || (request.buckets.empty() && samples != 1)) {
      refuse("buckets", "does not begin at 1 or does not ascend");
    }
    request.buckets.push_back({samples, from_protocol(bucket.model())});
  }
  request.inputs_per_sample = static_cast<std::int64_t>(
      within("inputs_per_sample", message.inputs_per_sample(), std::uint64_t{1} << 40U));
  request.load = read_load(message.load());
  request.batches.maximum_batch =
      within("maximum_batch", message.maximum_batch(), request.buckets.back().samples);
  request.batches.timeout = std::chrono::round<std::chrono::nanoseconds>(
      read_time("timeout_seconds", message.timeout_seconds()));
  request.batches.lanes = within("lanes", message.lanes(), kMaximumLanes);
  if (message.has_budget_seconds()) {
    request.budget = read_time("budget_seconds", message.budget_seconds());
  }
  request.data_set = within("data_set_samples", message.data_set_samples(), kMaximumDataSet);
  request.accuracy_log = message.accuracy_log();
  return request;
}

protocol::LoadProgress to_protocol(const LoadProgress& progress) {
  protocol::LoadProgress message;
  message.set_phase(progress.phase);
  message.set_batches(progress.batches);
  message.set_elapsed_seconds(progress.elapsed.count());
  return message;
}

LoadProgress from_protocol(const protocol::LoadProgress& message) {
  constexpr std::size_t kLongestPhase = 200;
  return {message.phase().substr(0, kLongestPhase),
          message.batches(),
          read_time("elapsed_seconds", message.elapsed_seconds())};
}

protocol::ScenarioResult to_protocol(const results::ScenarioResult& load) {
  protocol::ScenarioResult message;
  message.set_json(to_json(load));
  return message;
}

results::ScenarioResult from_protocol(const protocol::ScenarioResult& message) {
  try {
    return results::scenario_result_from_json(message.json());
  } catch (const Error& error) {
    refuse("json", fmt::format("is not a load: {}", error.what()));
  }
}

}  // namespace plumb::worker
