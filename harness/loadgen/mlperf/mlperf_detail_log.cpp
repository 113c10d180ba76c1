// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/loadgen/load_generator.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"

namespace plumb::loadgen {
namespace {

/// Writer of the lines ":::MLLOG {JSON}" of a detail log.
class MllogLines {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  MllogLines(std::ostream& out, std::int64_t process_id) : out_(out), process_id_(process_id) {}

  /// Stamps the following lines with a time after the log's start.
  void at(Nanoseconds time) { time_ = time; }

  template <typename Value>
  void add(std::string_view key, const Value& value, unsigned line = __builtin_LINE()) {
    write(key, text_of(value), false, line);
  }
  /// Adds keys of LoadGen whose values this load generator does not have, as null.
  void add_unknown(std::initializer_list<std::string_view> keys, unsigned line = __builtin_LINE()) {
    for (const std::string_view key : keys) {
      write(key, "null", false, line);
    }
  }
  void add_error(std::string_view text, unsigned line = __builtin_LINE()) {
    write("error_runtime", json_text(text), true, line);
  }

 private:
  static std::string json_text(std::string_view text);
  void write(std::string_view key, const std::string& value, bool is_error, unsigned line);

  template <typename Value>
  static std::string text_of(const Value& value) {
    if constexpr (std::is_same_v<Value, Nanoseconds>) {
      return fmt::format("{}", value.count());
    } else if constexpr (std::is_floating_point_v<Value>) {
      return fmt::format("{:.6f}", value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return fmt::format("{}", value);
    } else if constexpr (std::is_same_v<Value, std::vector<std::uint64_t>>) {
      return fmt::format("[{}]", fmt::join(value, ","));
    } else {
      return json_text(value);
    }
  }

  std::ostream& out_;
  std::int64_t process_id_;
  Nanoseconds time_{};
};

std::string MllogLines::json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void MllogLines::write(std::string_view key,
                       const std::string& value,
                       bool is_error,
                       unsigned line) {
  fmt::print(out_,
             ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {:.6f}, \"namespace\": "
             "\"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": "
             "{{\"is_error\": {}, \"is_warning\": false, \"file\": \"mlperf_detail_log.cpp\", "
             "\"line_no\": {}, \"pid\": {}, \"tid\": {}}}}}\n",
             key,
             value,
             static_cast<double>(time_.count()) * 1e-6,
             is_error,
             line,
             process_id_,
             process_id_);
}

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
    case RequestedLoad::Scenario::kSingleStream:
      log.add_unknown({"requested_single_stream_expected_latency_ns"});
      log.add("requested_single_stream_target_latency_percentile", percentile);
      break;
    case RequestedLoad::Scenario::kMultiStream:
      log.add_unknown({"requested_multi_stream_expected_latency_ns"});
      log.add("requested_multi_stream_target_latency_percentile", percentile);
      log.add("requested_multi_stream_samples_per_query", load.samples_per_query);
      break;
    case RequestedLoad::Scenario::kServer:
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
    case RequestedLoad::Scenario::kOffline:
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

/// Adds LoadGen's keys `requested_*`. A value that was not asked for is LoadGen's own "none", else
/// null. The percentile is that of the effective load.
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

/// Adds LoadGen's keys `effective_*`.
void add_effective_settings(MllogLines& log, const EffectiveLoad& load) {
  log.add("effective_scenario", mlperf_name(load.scenario));
  log.add("effective_test_mode", mlperf_name(load.mode));
  log.add("effective_samples_per_query", load.samples_per_query);
  log.add("effective_target_qps", load.target_rate.value_or(0.0));
  log.add("effective_target_latency_ns", load.latency_limit.value_or(Nanoseconds{}));
  log.add("effective_target_latency_percentile", fraction_of(load.rule.percentile));
  log.add("effective_max_async_queries", load.scenario == RequestedLoad::Scenario::kServer ? 0 : 1);
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

using Kind = LoadResult::Shortfall::Kind;

void add_verdict(MllogLines& log, const LoadResult& result) {
  log.add("result_validity", result.valid() ? "VALID" : "INVALID");
  if (result.load.latency_limit) {
    log.add("result_perf_constraints_met", is_met(result, Kind::kLatency));
  }
  log.add("result_min_duration_met", is_met(result, Kind::kDuration));
  log.add("result_min_queries_met", is_met(result, Kind::kCount));
  log.add("early_stopping_met", is_met(result, Kind::kConfidence));
  if (!result.valid()) {
    log.add("result_invalid_reason", fmt::format("{}", fmt::join(reason_texts(result), "; ")));
  }
  // LoadGen's offline has no early stopping, and an empty result of it.
  log.add("early_stopping_result", fmt::format("{}", fmt::join(early_stopping_lines(result), " ")));
}

void add_scenario_figures(MllogLines& log, const LoadResult& result) {
  log.add("result_query_count", result.queries_completed);
  const LoadResult::EarlyStopping stopping =
      result.early_stopping.value_or(LoadResult::EarlyStopping{});
  const double mean = Seconds(result.sample_latency.mean).count();
  switch (result.load.scenario) {
    case RequestedLoad::Scenario::kSingleStream:
      log.add("result_qps_with_loadgen_overhead", result.queries_per_second);
      log.add("result_qps_without_loadgen_overhead", mean > 0.0 ? 1.0 / mean : 0.0);
      log.add("early_stopping_latency_ss", stopping.estimate.value_or(Nanoseconds{}));
      log.add("early_stopping_latency_ms", stopping.estimate_99.value_or(Nanoseconds{}));
      break;
    case RequestedLoad::Scenario::kMultiStream:
      log.add("early_stopping_latency_ms", stopping.estimate.value_or(Nanoseconds{}));
      break;
    case RequestedLoad::Scenario::kServer:
      log.add("result_overlatency_query_count", result.over_latency);
      log.add("result_scheduled_samples_per_sec", result.scheduled_per_second);
      log.add("result_completed_samples_per_sec", result.samples_per_second);
      break;
    case RequestedLoad::Scenario::kOffline:
      log.add("result_samples_per_second", result.samples_per_second);
      break;
  }
}

/// Adds the distribution of a latency. `query` and `per_query` are parts of the keys.
void add_latencies(MllogLines& log,
                   const LoadResult::LatencySummary& latency,
                   std::string_view query,
                   std::string_view per_query) {
  log.add(fmt::format("result_min_{}latency_ns", query), latency.min);
  log.add(fmt::format("result_max_{}latency_ns", query), latency.max);
  log.add(fmt::format("result_mean_{}latency_ns", query), latency.mean);
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    log.add(fmt::format("result_{:.2f}_percentile_{}latency_ns",
                        LoadResult::LatencySummary::kPercentiles[i],
                        per_query),
            latency.percentiles[i]);
  }
}

/// Returns a moment as LoadGen's power keys have it: month, day, year and time in UTC.
std::string power_time(Timestamp time) {
  const std::string text = plumb::to_text(time);  // 2026-11-21T01:02:03.000004Z
  return fmt::format(
      "{}-{}-{} {}", text.substr(5, 2), text.substr(8, 2), text.substr(0, 4), text.substr(11, 12));
}

void add_origin(MllogLines& log, const LoadResult& result, const MlperfLogFacts& facts) {
  log.add("loadgen_version", facts.program + " (not LoadGen)");
  log.add_unknown(
      {"loadgen_build_date_local", "loadgen_build_date_utc", "loadgen_git_commit_date"});
  log.add("loadgen_git_log_message", facts.commit);
  log.add_unknown({"loadgen_git_status_message", "loadgen_file_sha1"});
  log.add("generic_message", kMlperfUnverified);
  log.add("test_datetime", plumb::to_text(facts.started));
  log.add("sut_name", result.system);
  log.add_unknown({"get_sut_name_duration_ns"});
  log.add("qsl_name", facts.data_set);
  log.add("qsl_reported_total_count", result.load.total_samples);
  log.add("qsl_reported_performance_count", result.load.loaded_samples);
}

/// Adds what LoadGen logs while a test runs. Queries are generated as they are issued.
void add_progress(MllogLines& log, const LoadResult& result, const MlperfLogFacts& facts) {
  const bool accuracy = result.load.mode == RequestedLoad::Mode::kAccuracy;
  const Nanoseconds end = result.begin + result.last_completion;
  log.add("generic_message", accuracy ? "Starting accuracy mode" : "Starting performance mode");
  log.add("loaded_qsl_set", sample_set(result.load));
  log.at(end);
  log.add("generated_query_count", result.queries_issued);
  log.add("generated_samples_per_query", result.load.samples_per_query);
  log.add("generated_query_duration", result.last_issue);
  // Nothing is logged while a load runs, so that no thread ever waits for a log.
  for (const std::string_view counter : {"swap_request_slots_retry",
                                         "swap_request_slots_retry_retry",
                                         "swap_request_slots_retry_reencounter",
                                         "start_reading_entries_retry",
                                         "tls_total_log_cas_fail",
                                         "tls_total_swap_buffers_slot_retry"}) {
    log.add(fmt::format("logger_{}_count", counter), 0);
  }
  const auto moment = [&](Nanoseconds after) {
    return power_time(facts.started + std::chrono::duration_cast<std::chrono::microseconds>(after));
  };
  log.add("power_begin", moment(result.begin));
  log.add("power_end", moment(end));
}

}  // namespace

void write_mlperf_detail(std::ostream& out, const LoadResult& result, const MlperfLogFacts& facts) {
  MllogLines log(out, facts.process_id);
  log.at(result.begin);
  add_origin(log, result, facts);
  add_requested_settings(log, facts.requested, result.load);
  add_effective_settings(log, result.load);
  add_progress(log, result, facts);
  const std::vector<std::string> errors = error_texts(result);
  for (const std::string& error : errors) {
    log.add_error(error);
  }
  if (result.load.mode == RequestedLoad::Mode::kPerformance) {
    add_verdict(log, result);
    add_scenario_figures(log, result);
    if (result.load.scenario == RequestedLoad::Scenario::kMultiStream) {
      add_latencies(log, result.query_latency, "query_", "per_query_");
    }
    add_latencies(log, result.sample_latency, "", "");
  }
  log.add("num_errors", errors.size());
}

}  // namespace plumb::loadgen
