// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/mlperf/mlperf_log.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

namespace plumb::loadgen {
namespace {

bool is_error(const LoadResult::Shortfall& shortfall) {
  return shortfall.kind == LoadResult::Shortfall::Kind::kDropped ||
         shortfall.kind == LoadResult::Shortfall::Kind::kFailed ||
         shortfall.kind == LoadResult::Shortfall::Kind::kMiscounted;
}

std::vector<std::string> texts(const LoadResult& result, bool errors) {
  std::vector<std::string> found;
  for (const LoadResult::Shortfall& shortfall : result.shortfalls) {
    if (is_error(shortfall) == errors) {
      found.push_back(shortfall.text);
    }
  }
  return found;
}

}  // namespace

std::string_view mlperf_name(RequestedLoad::Scenario scenario) {
  switch (scenario) {
    case RequestedLoad::Scenario::kSingleStream:
      return "SingleStream";
    case RequestedLoad::Scenario::kMultiStream:
      return "MultiStream";
    case RequestedLoad::Scenario::kServer:
      return "Server";
    case RequestedLoad::Scenario::kOffline:
      return "Offline";
  }
  return "";
}

std::string_view mlperf_name(RequestedLoad::Mode mode) {
  return mode == RequestedLoad::Mode::kAccuracy ? "AccuracyOnly" : "PerformanceOnly";
}

std::vector<std::string> early_stopping_lines(const LoadResult& result) {
  if (!result.early_stopping) {
    return {};
  }
  const LoadResult::EarlyStopping& stopping = *result.early_stopping;
  const bool server = result.load.scenario == RequestedLoad::Scenario::kServer;
  if (!stopping.met) {
    std::vector<std::string> lines;
    if (server) {
      lines.emplace_back(" * Run unsuccessful.");
    }
    lines.push_back(fmt::format(" * Processed {} queries.", stopping.queries));
    lines.push_back(fmt::format(" * Would need to run at least {} more queries.",
                                stopping.needed - stopping.queries));
    return lines;
  }
  if (server) {
    return {" * Run successful."};
  }
  std::vector<std::string> lines{
      fmt::format(" * Processed at least {} queries ({}).", stopping.needed, stopping.queries),
      fmt::format(" * Would discard {} highest latency queries.", stopping.dropped),
      fmt::format(" * Early stopping {:.1f}th percentile estimate: {}",
                  result.load.rule.percentile,
                  stopping.estimate.value_or(std::chrono::nanoseconds{}).count())};
  if (stopping.estimate_99) {
    lines.push_back(fmt::format(" * Early stopping 99.0th percentile estimate: {}",
                                stopping.estimate_99->count()));
  }
  return lines;
}

bool is_met(const LoadResult& result, LoadResult::Shortfall::Kind kind) {
  return std::none_of(
      result.shortfalls.begin(),
      result.shortfalls.end(),
      [kind](const LoadResult::Shortfall& shortfall) { return shortfall.kind == kind; });
}

std::vector<std::string> error_texts(const LoadResult& result) {
  return texts(result, true);
}
std::vector<std::string> reason_texts(const LoadResult& result) {
  return texts(result, false);
}

namespace {

using Kind = LoadResult::Shortfall::Kind;

constexpr std::string_view kRule = "================================================";

void print_heading(std::ostream& out, std::string_view text) {
  fmt::print(out, "{}\n{}\n{}\n", kRule, text, kRule);
}

/// Returns a name from outside without line breaks.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      c = ' ';
    }
  }
  return text;
}

void print_headline(std::ostream& out, const LoadResult& result) {
  switch (result.load.scenario) {
    case RequestedLoad::Scenario::kSingleStream:
    case RequestedLoad::Scenario::kMultiStream:
      fmt::print(out,
                 "{:.1f}th percentile latency (ns) : {}\n",
                 result.load.rule.percentile,
                 result.percentile_latency.count());
      break;
    case RequestedLoad::Scenario::kServer:
      fmt::print(out, "Completed samples per second    : {:.2f}\n", result.samples_per_second);
      break;
    case RequestedLoad::Scenario::kOffline:
      fmt::print(out, "Samples per second: {:g}\n", result.samples_per_second);
      break;
  }
}

void print_verdict(std::ostream& out, const LoadResult& result) {
  const auto answer = [&](Kind kind) { return is_met(result, kind) ? "Yes" : "NO"; };
  fmt::print(out, "Result is : {}\n", result.valid() ? "VALID" : "INVALID");
  if (result.load.latency_limit) {
    fmt::print(out, "  Performance constraints satisfied : {}\n", answer(Kind::kLatency));
  }
  fmt::print(out,
             "  Min duration satisfied : {}\n  Min queries satisfied : {}\n"
             "  Early stopping satisfied: {}\n",
             answer(Kind::kDuration),
             answer(Kind::kCount),
             answer(Kind::kConfidence));
  const std::vector<std::string> reasons = reason_texts(result);
  if (!reasons.empty()) {
    fmt::print(out, "Recommendations:\n");
  }
  for (const std::string& reason : reasons) {
    fmt::print(out, " * {}\n", one_line(reason));
  }
  const std::vector<std::string> lines = early_stopping_lines(result);
  if (!lines.empty()) {
    fmt::print(out, "Early Stopping Result:\n");
  }
  for (const std::string& line : lines) {
    fmt::print(out, "{}\n", line);
  }
}

void print_latencies(std::ostream& out, const LoadResult::LatencySummary& latency) {
  fmt::print(out,
             "Min latency (ns)                : {}\nMax latency (ns)                : {}\n"
             "Mean latency (ns)               : {}\n",
             latency.min.count(),
             latency.max.count(),
             latency.mean.count());
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    fmt::print(out,
               "{:.2f} percentile latency (ns)   : {}\n",
               LoadResult::LatencySummary::kPercentiles[i],
               latency.percentiles[i].count());
  }
}

void print_statistics(std::ostream& out, const LoadResult& result) {
  print_heading(out, "Additional Stats");
  switch (result.load.scenario) {
    case RequestedLoad::Scenario::kSingleStream: {
      const double mean = Seconds(result.sample_latency.mean).count();
      fmt::print(out,
                 "QPS w/ loadgen overhead         : {:.2f}\n"
                 "QPS w/o loadgen overhead        : {:.2f}\n\n",
                 result.queries_per_second,
                 mean > 0.0 ? 1.0 / mean : 0.0);
      break;
    }
    case RequestedLoad::Scenario::kServer:
      fmt::print(out, "Scheduled samples per second : {:.2f}\n", result.scheduled_per_second);
      break;
    case RequestedLoad::Scenario::kMultiStream:
      fmt::print(out, "Per-query latency:\n");
      break;
    case RequestedLoad::Scenario::kOffline:
      break;
  }
  print_latencies(out, result.query_latency);
  fmt::print(out, "\n");
}

void print_parameters(std::ostream& out, const EffectiveLoad& load) {
  const auto milliseconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  const bool server = load.scenario == RequestedLoad::Scenario::kServer;
  print_heading(out, "Test Parameters Used");
  fmt::print(out, "samples_per_query : {}\n", load.samples_per_query);
  fmt::print(out, "target_qps : {:g}\n", load.target_rate.value_or(0.0));
  fmt::print(out,
             "target_latency (ns): {}\n",
             load.latency_limit.value_or(std::chrono::nanoseconds{}).count());
  fmt::print(out, "max_async_queries : {}\n", server ? 0 : 1);
  fmt::print(out, "min_duration (ms): {}\n", milliseconds(load.minimum_duration));
  fmt::print(out,
             "max_duration (ms): {}\n",
             milliseconds(load.maximum_duration.value_or(std::chrono::nanoseconds{})));
  fmt::print(out, "min_query_count : {}\nmax_query_count : 0\n", load.minimum_queries);
  fmt::print(out,
             "qsl_rng_seed : {}\nsample_index_rng_seed : {}\nschedule_rng_seed : {}\n",
             load.seeds.data_set,
             load.seeds.samples,
             load.seeds.schedule);
  fmt::print(out,
             "accuracy_log_rng_seed : 0\naccuracy_log_probability : 0\n"
             "accuracy_log_sampling_target : 0\nprint_timestamps : 0\n"
             "performance_issue_unique : 0\nperformance_issue_same : 0\n"
             "performance_issue_same_index : 0\n");
  fmt::print(out,
             "performance_sample_count : {}\naccuracy_sample_count : {}\n\n",
             load.loaded_samples,
             load.total_samples);
}

}  // namespace

void write_mlperf_summary(std::ostream& out, const LoadResult& result) {
  print_heading(out, "MLPerf Results Summary");
  fmt::print(out,
             "{}\nSUT name : {}\nScenario : {}\nMode     : {}\n",
             kMlperfUnverified,
             one_line(result.system),
             mlperf_name(result.load.scenario),
             mlperf_name(result.load.mode));
  if (result.load.mode == RequestedLoad::Mode::kPerformance) {
    print_headline(out, result);
    print_verdict(out, result);
    fmt::print(out, "\n");
    print_statistics(out, result);
  }
  print_parameters(out, result.load);
  const std::vector<std::string> errors = error_texts(result);
  fmt::print(out, "No warnings encountered during test.\n\n");
  if (errors.empty()) {
    fmt::print(out, "No errors encountered during test.\n");
    return;
  }
  fmt::print(out, "{} ERRORS encountered during test:\n", errors.size());
  for (const std::string& error : errors) {
    fmt::print(out, " * {}\n", one_line(error));
  }
}

MlperfAccuracyLog::MlperfAccuracyLog(std::ostream& out) : out_(out) {
  out_ << "[\n";
}

void MlperfAccuracyLog::record(std::uint64_t sequence,
                               std::uint64_t index,
                               std::span<const std::byte> data) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string hex;
  hex.reserve(2 * data.size());
  for (const std::byte byte : data) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    hex += kDigits[std::to_integer<unsigned>(byte) & 0xFU];
  }
  fmt::print(out_,
             "{}{{ \"seq_id\" : {}, \"qsl_idx\" : {}, \"data\" : \"{}\" }}",
             any_ ? ",\n" : "",
             sequence,
             index,
             hex);
  any_ = true;
}

void MlperfAccuracyLog::finish() {
  out_ << (any_ ? "\n]\n" : "]\n");
}

}  // namespace plumb::loadgen
