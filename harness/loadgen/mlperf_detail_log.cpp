// SPDX-License-Identifier: Apache-2.0
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <type_traits>

#include "harness/loadgen/mlperf_log.hpp"
#include "harness/loadgen/mlperf_words.hpp"

namespace plumb {
namespace {

using Kind = Shortfall::Kind;
using Nanoseconds = std::chrono::nanoseconds;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Log whose values tools for LoadGen's logs understand.
class DetailLog {
 public:
  DetailLog(std::ostream& out, std::int64_t process_id) : out_(out), process_id_(process_id) {}

  /// Stamps the following lines with a time after the run's start.
  void at(Nanoseconds time) { time_ = time; }

  template <typename Value>
  void add(std::string_view key, const Value& value, unsigned line = __builtin_LINE()) {
    write(key, text_of(value), false, line);
  }
  void add_error(std::string_view text, unsigned line = __builtin_LINE()) {
    write("error_runtime", json_text(text), true, line);
  }

 private:
  template <typename Value>
  static std::string text_of(const Value& value) {
    if constexpr (std::is_same_v<Value, Nanoseconds>) {
      return fmt::format("{}", value.count());
    } else if constexpr (std::is_floating_point_v<Value>) {
      return fmt::format("{:.6f}", value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return fmt::format("{}", value);
    } else {
      return json_text(value);
    }
  }

  void write(std::string_view key, const std::string& value, bool is_error, unsigned line) {
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

  std::ostream& out_;
  std::int64_t process_id_;
  Nanoseconds time_{};
};

std::int64_t milliseconds(Nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::int64_t milliseconds(const std::optional<Seconds>& time) {
  return time ? milliseconds(std::chrono::round<Nanoseconds>(*time)) : 0;
}

void add_requested(DetailLog& log, const RequestedLoad& asked) {
  log.add("requested_scenario", mlperf_name(asked.scenario));
  log.add("requested_test_mode", mlperf_name(asked.mode));
  if (asked.scenario == LoadScenario::kServer) {
    log.add("requested_server_target_qps", asked.target_rate.value_or(0.0));
    log.add("requested_server_target_latency_ns",
            std::chrono::round<Nanoseconds>(asked.latency_limit.value_or(Seconds{})));
    log.add("requested_server_coalesce_queries", false);
    log.add("requested_server_max_async_queries", 0);
    log.add("requested_server_num_issue_query_threads", 0);
  }
  if (asked.scenario == LoadScenario::kOffline) {
    log.add("requested_offline_expected_qps", asked.expected_rate.value_or(0.0));
  }
  log.add("requested_min_duration_ms",
          milliseconds(asked.fixed_duration ? asked.fixed_duration : asked.minimum_duration));
  log.add("requested_max_duration_ms", milliseconds(asked.maximum_duration));
  log.add("requested_min_query_count", asked.minimum_queries.value_or(0));
  log.add("requested_max_query_count", 0);
  log.add("requested_qsl_rng_seed", asked.seeds.data_set);
  log.add("requested_sample_index_rng_seed", asked.seeds.samples);
  log.add("requested_schedule_rng_seed", asked.seeds.schedule);
  log.add("requested_use_token_latencies", false);
}

void add_effective(DetailLog& log, const EffectiveLoad& load) {
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
  log.add("effective_accuracy_log_rng_seed", 0);
  log.add("effective_accuracy_log_probability", 0.0);
  log.add("effective_accuracy_log_sampling_target", 0);
  log.add("effective_print_timestamps", false);
  log.add("effective_performance_issue_unique", false);
  log.add("effective_performance_issue_same", false);
  log.add("effective_performance_issue_same_index", 0);
  log.add("effective_performance_sample_count", load.loaded_samples);
  log.add("effective_accuracy_sample_count", load.total_samples);
  log.add("effective_sample_concatenate_permutation", false);
}

void add_verdict(DetailLog& log, const LoadResult& result) {
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
  if (result.early_stopping) {
    log.add("early_stopping_result",
            fmt::format("{}", fmt::join(early_stopping_lines(result), " ")));
  }
}

void add_scenario_figures(DetailLog& log, const LoadResult& result) {
  log.add("result_query_count", result.queries_completed);
  const EarlyStopping stopping = result.early_stopping.value_or(EarlyStopping{});
  const double mean = Seconds(result.sample_latency.mean).count();
  switch (result.load.scenario) {
    case LoadScenario::kSingleStream:
      log.add("result_qps_with_loadgen_overhead", result.queries_per_second);
      log.add("result_qps_without_loadgen_overhead", mean > 0.0 ? 1.0 / mean : 0.0);
      log.add("early_stopping_latency_ss", stopping.estimate.value_or(Nanoseconds{}));
      log.add("early_stopping_latency_ms", stopping.estimate_99.value_or(Nanoseconds{}));
      break;
    case LoadScenario::kMultiStream:
      log.add("early_stopping_latency_ms", stopping.estimate.value_or(Nanoseconds{}));
      break;
    case LoadScenario::kServer:
      log.add("result_overlatency_query_count", result.over_latency);
      log.add("result_scheduled_samples_per_sec", result.scheduled_per_second);
      log.add("result_completed_samples_per_sec", result.samples_per_second);
      break;
    case LoadScenario::kOffline:
      log.add("result_samples_per_second", result.samples_per_second);
      break;
  }
}

/// Adds the distribution of a latency. `query` and `per_query` are parts of the keys.
void add_latencies(DetailLog& log,
                   const LatencySummary& latency,
                   std::string_view query,
                   std::string_view per_query) {
  log.add(fmt::format("result_min_{}latency_ns", query), latency.min);
  log.add(fmt::format("result_max_{}latency_ns", query), latency.max);
  log.add(fmt::format("result_mean_{}latency_ns", query), latency.mean);
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    log.add(
        fmt::format(
            "result_{:.2f}_percentile_{}latency_ns", LatencySummary::kPercentiles[i], per_query),
        latency.percentiles[i]);
  }
}

}  // namespace

void write_mlperf_detail(std::ostream& out, const LoadResult& result, const MlperfLogFacts& facts) {
  DetailLog log(out, facts.process_id);
  log.add("loadgen_version", facts.program + " (not LoadGen)");
  log.add("generic_message", kMlperfUnverified);
  log.add("test_datetime", facts.started);
  log.add("sut_name", result.system);
  log.add("qsl_name", facts.data_set);
  log.add("qsl_reported_total_count", result.load.total_samples);
  log.add("qsl_reported_performance_count", result.load.loaded_samples);
  add_requested(log, facts.requested);
  add_effective(log, result.load);
  log.at(result.last_completion);
  const std::vector<std::string> errors = error_texts(result);
  for (const std::string& error : errors) {
    log.add_error(error);
  }
  if (result.load.mode == LoadMode::kPerformance) {
    add_verdict(log, result);
    add_scenario_figures(log, result);
    if (result.load.scenario == LoadScenario::kMultiStream) {
      add_latencies(log, result.query_latency, "query_", "per_query_");
    }
    add_latencies(log, result.sample_latency, "", "");
  }
  log.add("num_errors", errors.size());
}

}  // namespace plumb
