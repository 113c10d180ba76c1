// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::loadgen {
namespace {

/// Returns whether `over` latencies above the bound are few enough of `queries`. Needs over <
/// queries.
bool is_enough(const EffectiveLoad::ConfidenceRule& rule,
               std::uint64_t queries,
               std::uint64_t over) {
  const double tail = boost::math::ibeta(static_cast<double>(queries - over),
                                         static_cast<double>(over) + 1.0,
                                         fraction_of(rule.percentile));
  return tail < 1.0 - rule.confidence;
}

}  // namespace

double fraction_of(double percent) {
  return std::round(percent * 1e7) / 1e9;
}

std::uint64_t queries_needed(const EffectiveLoad::ConfidenceRule& rule, std::uint64_t over) {
  PLUMB_CHECK(rule.percentile > 0.0 && rule.percentile < 100.0 && rule.confidence < 1.0);
  std::uint64_t too_few = over;
  std::uint64_t enough = over + 1;
  while (!is_enough(rule, enough, over)) {
    too_few = enough;
    enough *= 2;
  }
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    (is_enough(rule, middle, over) ? enough : too_few) = middle;
  }
  return enough;
}

std::optional<std::uint64_t> estimate_rank(const EffectiveLoad::ConfidenceRule& rule,
                                           std::uint64_t queries) {
  PLUMB_CHECK(rule.percentile > 0.0 && rule.percentile < 100.0 && rule.confidence < 1.0);
  if (queries < 2 || !is_enough(rule, queries, 1)) {
    return std::nullopt;
  }
  // The claim only becomes harder with more latencies over the bound, so one bisection finds the
  // last.
  std::uint64_t few = 1;
  std::uint64_t too_many = queries;
  while (too_many - few > 1) {
    const std::uint64_t middle = few + (too_many - few) / 2;
    (is_enough(rule, queries, middle) ? few : too_many) = middle;
  }
  return few;
}

namespace {

using Nanoseconds = std::chrono::nanoseconds;

constexpr std::array<std::string_view, 4> kScenarioTexts{
    "single_stream", "multi_stream", "server", "offline"};
constexpr double kLongest = 30.0 * 24 * 3600;  // seconds; keeps sums far from overflow
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 26U;  // in one query
constexpr double kFastest = 1e9;                                // queries a second

// MLPerf Inference v6.1: mlperf.conf, and the load generator's own defaults.
constexpr Seconds kMinimumDuration{600.0};
constexpr std::uint64_t kOfflineSamples = 24'576;
constexpr std::uint64_t kMultiStreamSamples = 8;
constexpr std::uint64_t kMultiStreamQueries = 662;
constexpr std::uint64_t kQueries = 100;
constexpr double kOfflineMargin = 1.1;  // samples beyond what the expected rate needs
constexpr Seconds kStallLimit{60.0};

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Error::Kind::kUser, text);
}

Nanoseconds checked_time(Seconds time, std::string_view name) {
  if (!(time.count() >= 0.0 && time.count() <= kLongest)) {
    refuse(
        fmt::format("{} is {} s: give between 0 and {} s (30 days)", name, time.count(), kLongest));
  }
  return std::chrono::round<Nanoseconds>(time);
}

std::optional<Nanoseconds> checked_time(const std::optional<Seconds>& time, std::string_view name) {
  return time ? std::optional(checked_time(*time, name)) : std::nullopt;
}

double checked_rate(double rate, std::string_view name) {
  if (!(rate > 0.0 && rate <= kFastest)) {
    refuse(
        fmt::format("{} is {}: give a rate above 0 and up to {:g} a second", name, rate, kFastest));
  }
  return rate;
}

void check_combination(const RequestedLoad& asked) {
  const bool server = asked.scenario == RequestedLoad::Scenario::kServer;
  const bool offline = asked.scenario == RequestedLoad::Scenario::kOffline;
  const std::string name(to_text(asked.scenario));
  if (asked.fixed_duration && (asked.minimum_duration || asked.minimum_queries)) {
    refuse(
        "a fixed duration ends the run: leave out the minimum duration and the minimum of queries");
  }
  if (server && asked.mode == RequestedLoad::Mode::kPerformance && !asked.latency_limit) {
    refuse("server needs a latency limit: its result is the rate at which the limit is kept");
  }
  if (offline && (asked.latency_limit || asked.percentile)) {
    refuse("offline has no latency limit and no percentile: leave them out");
  }
  if (!server && asked.target_rate) {
    refuse(name + " has no target rate, only server has one: leave it out");
  }
  if (!offline && asked.expected_rate) {
    refuse(name + " needs no expected rate: leave it out");
  }
  if ((server || asked.scenario == RequestedLoad::Scenario::kSingleStream) &&
      asked.samples_per_query && *asked.samples_per_query != 1) {
    refuse(fmt::format("{} has 1 sample a query, not {}", name, *asked.samples_per_query));
  }
  if (offline && asked.minimum_queries && *asked.minimum_queries != 1) {
    refuse("offline has one query: set the samples per query instead of the number of queries");
  }
}

std::uint64_t offline_samples(const RequestedLoad& asked, const EffectiveLoad& load) {
  if (load.mode == RequestedLoad::Mode::kAccuracy) {
    return load.total_samples;
  }
  if (load.fixed_duration) {
    return asked.samples_per_query.value_or(load.loaded_samples);
  }
  double samples = static_cast<double>(asked.samples_per_query.value_or(kOfflineSamples));
  if (asked.expected_rate) {
    const double rate = checked_rate(*asked.expected_rate, "the expected rate");
    samples = std::max(samples,
                       std::ceil(kOfflineMargin * rate * Seconds(load.minimum_duration).count()));
  }
  return static_cast<std::uint64_t>(std::min(samples, 1e18));
}

std::uint64_t samples_per_query(const RequestedLoad& asked, const EffectiveLoad& load) {
  switch (load.scenario) {
    case RequestedLoad::Scenario::kOffline:
      return offline_samples(asked, load);
    case RequestedLoad::Scenario::kMultiStream:
      return asked.samples_per_query.value_or(kMultiStreamSamples);
    default:
      return 1;
  }
}

std::uint64_t minimum_queries(const RequestedLoad& asked, const EffectiveLoad& load) {
  if (load.fixed_duration || load.scenario == RequestedLoad::Scenario::kOffline) {
    return 1;
  }
  const bool multi_stream = load.scenario == RequestedLoad::Scenario::kMultiStream;
  return std::max<std::uint64_t>(
      1, asked.minimum_queries.value_or(multi_stream ? kMultiStreamQueries : kQueries));
}

}  // namespace

std::string_view to_text(RequestedLoad::Scenario scenario) {
  return enum_text(kScenarioTexts, scenario);
}

std::optional<RequestedLoad::Scenario> parse_load_scenario(std::string_view text) {
  return parse_enum<RequestedLoad::Scenario>(kScenarioTexts, text);
}

std::string_view to_text(RequestedLoad::Mode mode) {
  return mode == RequestedLoad::Mode::kAccuracy ? "accuracy" : "performance";
}

EffectiveLoad resolve_load(const RequestedLoad& asked) {
  check_combination(asked);
  EffectiveLoad load;
  load.scenario = asked.scenario;
  load.mode = asked.mode;
  load.seeds = asked.seeds;
  load.fixed_duration = asked.fixed_duration.has_value();
  load.minimum_duration =
      checked_time(asked.fixed_duration.value_or(asked.minimum_duration.value_or(kMinimumDuration)),
                   load.fixed_duration ? "the fixed duration" : "the minimum duration");
  load.maximum_duration = checked_time(asked.maximum_duration, "the maximum duration");
  load.latency_limit = checked_time(asked.latency_limit, "the latency limit");
  load.warm_up = checked_time(asked.warm_up.value_or(Seconds(0.0)), "the warm-up");
  // A system may answer an offline query in one piece at its end, so the stall limit grows with the
  // duration.
  const bool patient = asked.scenario == RequestedLoad::Scenario::kOffline;
  load.stall_limit = checked_time(asked.stall_limit, "the stall limit")
                         .value_or(std::chrono::round<Nanoseconds>(kStallLimit) +
                                   (patient ? 3 * load.minimum_duration : Nanoseconds{}));
  load.rule.percentile = asked.percentile.value_or(
      asked.scenario == RequestedLoad::Scenario::kSingleStream ? 90.0 : 99.0);
  if (!(load.rule.percentile > 0.0 && load.rule.percentile < 100.0)) {
    refuse(fmt::format("the percentile is {}: give one between 0 and 100 (both excluded), in %",
                       load.rule.percentile));
  }
  if (asked.target_rate) {
    load.target_rate = checked_rate(*asked.target_rate, "the target rate");
  }
  load.total_samples = asked.total_samples;
  load.loaded_samples = asked.loaded_samples.value_or(asked.total_samples);
  if (load.loaded_samples == 0 || load.loaded_samples > load.total_samples) {
    refuse(fmt::format("{} of {} samples are loaded: give at least one, and no more than there are",
                       load.loaded_samples,
                       load.total_samples));
  }
  load.samples_per_query = samples_per_query(asked, load);
  load.minimum_queries = minimum_queries(asked, load);
  if (load.samples_per_query == 0 || load.samples_per_query > kMaxSamples) {
    refuse(fmt::format("{} samples in a query: give between 1 and {}, or a fixed duration",
                       load.samples_per_query,
                       kMaxSamples));
  }
  return load;
}

RequestedLoad accuracy_load(const RequestedLoad& load, std::uint64_t samples) {
  RequestedLoad accuracy;
  accuracy.scenario = load.scenario;
  accuracy.mode = RequestedLoad::Mode::kAccuracy;
  if (load.scenario == RequestedLoad::Scenario::kMultiStream) {
    accuracy.samples_per_query = load.samples_per_query;
  }
  accuracy.percentile = load.percentile;
  accuracy.latency_limit = load.latency_limit;
  accuracy.target_rate = load.target_rate;
  accuracy.stall_limit = load.stall_limit;
  accuracy.total_samples = samples;
  accuracy.seeds = load.seeds;
  return accuracy;
}

std::string_view to_text(ScenarioName scenario) {
  return scenario == ScenarioName::kInteractive ? "interactive" : to_text(load_scenario(scenario));
}

std::optional<ScenarioName> parse_scenario_name(std::string_view text) {
  const auto* const found =
      std::find_if(kScenarioNames.begin(), kScenarioNames.end(), [&](ScenarioName scenario) {
        return to_text(scenario) == text;
      });
  return found == kScenarioNames.end() ? std::nullopt : std::optional(*found);
}

RequestedLoad::Scenario load_scenario(ScenarioName scenario) {
  switch (scenario) {
    case ScenarioName::kSingleStream:
      break;
    case ScenarioName::kMultiStream:
      return RequestedLoad::Scenario::kMultiStream;
    case ScenarioName::kServer:
    case ScenarioName::kInteractive:
      return RequestedLoad::Scenario::kServer;
    case ScenarioName::kOffline:
      return RequestedLoad::Scenario::kOffline;
  }
  return RequestedLoad::Scenario::kSingleStream;
}

ScenarioName name_of(RequestedLoad::Scenario scenario) {
  return parse_scenario_name(to_text(scenario)).value();
}

}  // namespace plumb::loadgen
