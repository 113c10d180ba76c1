// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/mlperf/mlperf_settings_lines.hpp"

#include "harness/loadgen/mlperf/mlperf_words.hpp"

namespace plumb::loadgen {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

std::int64_t milliseconds(Nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::int64_t milliseconds(const std::optional<Seconds>& time) {
  return time ? milliseconds(std::chrono::round<Nanoseconds>(*time)) : 0;
}

/// Adds what LoadGen asks of the scenario. It generates queries beforehand, for an expected latency
/// or rate, which nobody states here.
void add_requested_scenario(MllogLines& log,
                            const RequestedLoad& asked,
                            const EffectiveLoad& load) {
  const double percentile = fraction_of(load.rule.percentile);
  switch (asked.scenario) {
    case LoadScenario::kSingleStream:
      log.add_unknown({"requested_single_stream_expected_latency_ns"});
      log.add("requested_single_stream_target_latency_percentile", percentile);
      break;
    case LoadScenario::kMultiStream:
      log.add_unknown({"requested_multi_stream_expected_latency_ns"});
      log.add("requested_multi_stream_target_latency_percentile", percentile);
      log.add("requested_multi_stream_samples_per_query", load.samples_per_query);
      break;
    case LoadScenario::kServer:
      log.add("requested_server_target_qps", asked.target_rate.value_or(0.0));
      log.add("requested_server_target_latency_ns",
              std::chrono::round<Nanoseconds>(asked.latency_limit.value_or(Seconds{})));
      log.add("requested_server_target_latency_percentile", percentile);
      log.add("requested_server_coalesce_queries", false);
      log.add_unknown({"requested_server_find_peak_qps_decimals_of_precision",
                       "requested_server_find_peak_qps_boundary_step_size"});
      log.add("requested_server_max_async_queries", 0);
      log.add("requested_server_num_issue_query_threads", 0);
      break;
    case LoadScenario::kOffline:
      log.add("requested_offline_expected_qps", asked.expected_rate.value_or(0.0));
      break;
  }
}

/// Adds what only LoadGen can do. `prefix` is "requested" or "effective".
void add_fixed_settings(MllogLines& log, std::string_view prefix) {
  const auto key = [prefix](std::string_view name) { return fmt::format("{}_{}", prefix, name); };
  log.add(key("accuracy_log_rng_seed"), 0);
  log.add(key("accuracy_log_probability"), 0.0);
  log.add(key("accuracy_log_sampling_target"), 0);
  log.add(key("print_timestamps"), false);
  log.add(key("performance_issue_unique"), false);
  log.add(key("performance_issue_same"), false);
  log.add(key("performance_issue_same_index"), 0);
}

}  // namespace

void add_requested_settings(MllogLines& log,
                            const RequestedLoad& asked,
                            const EffectiveLoad& load) {
  log.add("requested_scenario", mlperf_name(asked.scenario));
  log.add("requested_test_mode", mlperf_name(asked.mode));
  add_requested_scenario(log, asked, load);
  log.add("requested_min_duration_ms",
          milliseconds(asked.fixed_duration ? asked.fixed_duration : asked.minimum_duration));
  log.add("requested_max_duration_ms", milliseconds(asked.maximum_duration));
  log.add("requested_min_query_count", asked.minimum_queries.value_or(0));
  log.add("requested_max_query_count", 0);
  log.add("requested_qsl_rng_seed", asked.seeds.data_set);
  log.add("requested_sample_index_rng_seed", asked.seeds.samples);
  log.add("requested_schedule_rng_seed", asked.seeds.schedule);
  add_fixed_settings(log, "requested");
  log.add("requested_performance_sample_count_override", asked.loaded_samples.value_or(0));
  log.add("requested_accuracy_sample_count_override", 0);
  log.add("requested_sample_concatenate_permutation", false);
  log.add("requested_use_token_latencies", false);
}

void add_effective_settings(MllogLines& log, const EffectiveLoad& load) {
  log.add("effective_scenario", mlperf_name(load.scenario));
  log.add("effective_test_mode", mlperf_name(load.mode));
  log.add("effective_samples_per_query", load.samples_per_query);
  log.add("effective_target_qps", load.target_rate.value_or(0.0));
  log.add("effective_target_latency_ns", load.latency_limit.value_or(Nanoseconds{}));
  log.add("effective_target_latency_percentile", fraction_of(load.rule.percentile));
  log.add("effective_max_async_queries", load.scenario == LoadScenario::kServer ? 0 : 1);
  log.add("effective_target_duration_ms", milliseconds(load.minimum_duration));
  log.add("effective_min_duration_ms", milliseconds(load.minimum_duration));
  log.add("effective_max_duration_ms", milliseconds(load.maximum_duration.value_or(Nanoseconds{})));
  log.add("effective_min_query_count", load.minimum_queries);
  log.add("effective_max_query_count", 0);
  log.add("effective_min_sample_count", load.minimum_queries * load.samples_per_query);
  log.add("effective_qsl_rng_seed", load.seeds.data_set);
  log.add("effective_sample_index_rng_seed", load.seeds.samples);
  log.add("effective_schedule_rng_seed", load.seeds.schedule);
  add_fixed_settings(log, "effective");
  log.add("effective_performance_sample_count", load.loaded_samples);
  log.add("effective_accuracy_sample_count", load.total_samples);
  log.add("effective_sample_concatenate_permutation", false);
}

}  // namespace plumb::loadgen
