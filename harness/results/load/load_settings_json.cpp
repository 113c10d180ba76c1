// SPDX-License-Identifier: Apache-2.0
#include "harness/results/load/load_settings_json.hpp"

#include <charconv>

#include "harness/results/load/load_fields.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::json;

constexpr std::array kScenarios{loadgen::LoadScenario::kSingleStream,
                                loadgen::LoadScenario::kMultiStream,
                                loadgen::LoadScenario::kServer,
                                loadgen::LoadScenario::kOffline};
constexpr std::array kModes{loadgen::LoadMode::kPerformance, loadgen::LoadMode::kAccuracy};

Json to_value(const loadgen::LoadSeeds& seeds) {
  return {{"samples", std::to_string(seeds.samples)},
          {"schedule", std::to_string(seeds.schedule)},
          {"data_set", std::to_string(seeds.data_set)}};
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

loadgen::LoadSeeds seeds_from(const JsonObject& object) {
  // Earlier versions took the data set in its own order, and stored no seed of it.
  return {.samples = seed_from(object, "samples"),
          .schedule = seed_from(object, "schedule"),
          .data_set = object.has("data_set") ? seed_from(object, "data_set") : 0};
}

}  // namespace

Json to_value(const loadgen::RequestedLoad& load) {
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

loadgen::RequestedLoad requested_from(const JsonObject& object) {
  loadgen::RequestedLoad load;
  load.scenario = read_one_of(object, "scenario", kScenarios);
  load.mode = read_one_of(object, "mode", kModes);
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

Json to_value(const loadgen::EffectiveLoad& load) {
  return {{"scenario", to_text(load.scenario)},
          {"mode", to_text(load.mode)},
          {"minimum_duration_seconds", seconds_value(load.minimum_duration)},
          {"fixed_duration", load.fixed_duration},
          {"maximum_duration_seconds", or_null(load.maximum_duration)},
          {"minimum_queries", load.minimum_queries},
          {"samples_per_query", load.samples_per_query},
          {"percentile", load.rule.percentile},
          {"confidence", load.rule.confidence},
          {"latency_limit_seconds", or_null(load.latency_limit)},
          {"target_rate", or_null(load.target_rate)},
          {"warm_up_seconds", seconds_value(load.warm_up)},
          {"stall_limit_seconds", seconds_value(load.stall_limit)},
          {"over_latency_at_most", or_null(load.over_latency_at_most)},
          {"loaded_samples", load.loaded_samples},
          {"total_samples", load.total_samples},
          {"seeds", to_value(load.seeds)}};
}

loadgen::EffectiveLoad effective_from(const JsonObject& object) {
  loadgen::EffectiveLoad load;
  load.scenario = read_one_of(object, "scenario", kScenarios);
  load.mode = read_one_of(object, "mode", kModes);
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

}  // namespace plumb::results
