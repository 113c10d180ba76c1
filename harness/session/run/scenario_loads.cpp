// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/scenario_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

constexpr Seconds kWarmUp{1.0};       // at most
constexpr double kWarmUpShare = 0.1;  // of the duration, at most
constexpr std::int64_t kMultiStreamBatch = 8;

std::int64_t maximum_batch_of(const suite::Scenario& scenario) {
  return scenario.settings.maximum_batch.value_or(
      scenario.name == loadgen::ScenarioName::kMultiStream ? kMultiStreamBatch : 1);
}

}  // namespace

std::optional<loadgen::RequestedLoad> load_of(const suite::Scenario& scenario) {
  const suite::ScenarioLimits& limits = scenario.limits;
  if (!limits.latency && (limits.first_token || limits.per_token)) {
    return std::nullopt;
  }
  const suite::ScenarioSettings& settings = scenario.settings;
  loadgen::RequestedLoad load;
  load.scenario = loadgen::load_scenario(scenario.name);
  load.fixed_duration = settings.duration;
  load.minimum_duration = settings.minimum_duration;
  load.percentile = limits.percentile;
  load.latency_limit = limits.latency;
  load.target_rate = settings.target_rate;
  const Seconds duration =
      settings.duration.value_or(settings.minimum_duration.value_or(kWarmUp / kWarmUpShare));
  load.warm_up = std::min(kWarmUp, duration * kWarmUpShare);
  load.seeds = loadgen::kMlperfSeeds;
  return load;
}

loadgen::BatchPolicy batches_of(const suite::Scenario& scenario) {
  const Seconds timeout = scenario.settings.batch_timeout.value_or(Seconds(0.0));
  return {.maximum_batch = static_cast<std::size_t>(maximum_batch_of(scenario)),
          .timeout = std::chrono::round<std::chrono::nanoseconds>(timeout),
          .lanes = static_cast<std::size_t>(scenario.settings.lanes.value_or(1))};
}

std::vector<std::size_t> list_buckets(const suite::Scenario& scenario) {
  const auto most = static_cast<std::size_t>(maximum_batch_of(scenario));
  std::vector<std::size_t> buckets{1};
  if (loadgen::load_scenario(scenario.name) == loadgen::LoadScenario::kServer) {
    for (std::size_t bucket = 2; bucket < most; bucket *= 2) {
      buckets.push_back(bucket);
    }
  }
  if (most > 1) {
    buckets.push_back(most);
  }
  return buckets;
}

void check_loads(const suite::ResolvedSuite& suite) {
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    for (const suite::Scenario& scenario : model.scenarios) {
      if (const std::optional<loadgen::RequestedLoad> load = load_of(scenario)) {
        try {
          static_cast<void>(loadgen::resolve_load(*load));
        } catch (const Error& error) {
          throw Error(error.kind(),
                      fmt::format("model '{}', scenario {}: {}; set it in [model.{}] of the suite, "
                                  "or see the options of `plumb run`",
                                  model.name,
                                  to_text(scenario.name),
                                  error.what(),
                                  to_text(scenario.name)));
        }
      }
    }
  }
}

}  // namespace plumb::session
