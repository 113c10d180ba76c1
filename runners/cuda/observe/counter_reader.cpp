// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/counter_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::cuda {
namespace {

constexpr const char* kTensorPipe = "tensor_pipe_instructions";
constexpr const char* kTensorPipeFma = "tensor_pipe_fma_instructions";
constexpr double kPassesMayDiffer = 1e-3;

/// Reading that is counted by default, with the metrics that provide it.
struct Question {
  const char* reading;
  std::vector<const char*> names;  // as chips call it, the newest first
  double unit = 1.0;
  bool everywhere = true;  // a chip without it lacks something
};

const std::vector<Question>& questions() {
  constexpr double kPercent = 0.01;
  static const std::vector<Question> list{
      {kTensorPipe, {"sm__inst_executed_pipe_tensor_v2.sum", "sm__inst_executed_pipe_tensor.sum"}},
      {kTensorPipeFma, {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"}, 1.0, false},
      {"tensor_pipe_active_ratio",
       {"sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
       kPercent},
      {"instructions", {"sm__inst_executed.sum"}},
      {"dram_read_bytes", {"dram__bytes_op_read.sum", "dram__bytes_read.sum"}},
      {"dram_written_bytes", {"dram__bytes_op_write.sum", "dram__bytes_write.sum"}},
      {"l2_hit_ratio", {"lts__t_sector_hit_rate.pct"}, kPercent},
      {"sm_throughput_ratio", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}, kPercent},
      {"dram_throughput_ratio",
       {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
       kPercent},
      {"occupancy_ratio", {"sm__warps_active.avg.pct_of_peak_sustained_active"}, kPercent},
  };
  return list;
}

/// Returns whether a metric grows with the number of executions that it counts.
bool grows(std::string_view name) {
  constexpr std::array<std::string_view, 4> kCounts{".sum", ".avg", ".min", ".max"};
  return std::any_of(
      kCounts.begin(), kCounts.end(), [&](std::string_view end) { return name.ends_with(end); });
}

void add_tensor_cores(worker::Observation& seen) {
  const auto pipe = seen.readings.find(kTensorPipe);
  if (pipe == seen.readings.end()) {
    return;
  }
  const auto fma = seen.readings.find(kTensorPipeFma);
  const double ordinary = fma != seen.readings.end() ? fma->second.median : 0.0;
  const bool used = pipe->second.median - ordinary > kPassesMayDiffer * pipe->second.median;
  seen.attributes["tensor_cores"] = used ? "yes" : "no";
  seen.attributes["tensor_cores.source"] = "counter";
}

}  // namespace

std::vector<std::string> MetricChoice::names() const {
  std::vector<std::string> names;
  for (const ChosenMetric& metric : metrics) {
    names.push_back(metric.name);
  }
  return names;
}

MetricChoice choose_metrics(const std::vector<std::string>& asked,
                            const std::function<bool(const std::string&)>& has) {
  MetricChoice choice;
  for (const std::string& name : asked) {
    if (has(name)) {
      choice.metrics.push_back({name, name, 1.0});
    } else {
      choice.missing.push_back(name);
    }
  }
  if (!asked.empty()) {
    return choice;
  }
  for (const Question& question : questions()) {
    const auto name = std::find_if(question.names.begin(), question.names.end(), has);
    if (name != question.names.end()) {
      choice.metrics.push_back({*name, question.reading, question.unit});
    } else if (question.everywhere) {
      choice.missing.emplace_back(question.reading);
    }
  }
  return choice;
}

worker::Observation metric_observation(const MetricChoice& choice,
                                       const std::vector<std::vector<double>>& ranges,
                                       std::size_t executions) {
  PLUMB_CHECK(executions > 0);
  worker::Observation seen;
  std::vector<std::string> missing = choice.missing;
  for (std::size_t i = 0; i < choice.metrics.size(); ++i) {
    const ChosenMetric& metric = choice.metrics[i];
    const double unit =
        grows(metric.name) ? metric.unit / static_cast<double>(executions) : metric.unit;
    std::vector<double> values;
    values.reserve(ranges.size());
    for (const std::vector<double>& range : ranges) {
      values.push_back(range.at(i) * unit);
    }
    if (const std::optional<results::Reading> reading = results::summarize_reading(values)) {
      seen.readings[metric.reading] = *reading;
    } else {
      missing.push_back(metric.reading);
    }
  }
  add_tensor_cores(seen);
  if (!missing.empty()) {
    seen.attributes["metrics_missing"] =
        fmt::format("this GPU does not count {}", fmt::join(missing, ", "));
  }
  return seen;
}

std::size_t executions_of_range(Seconds one) {
  constexpr Seconds kRange{2e-3};  // the cost of a range itself counts little then
  constexpr auto kMost = static_cast<double>(CounterReader::kMaxExecutions);
  if (one <= Seconds(0.0)) {
    return CounterReader::kMaxExecutions;
  }
  return static_cast<std::size_t>(std::clamp(std::ceil(kRange / one), 1.0, kMost));
}

worker::Observation CounterReader::read(const DeviceContext& context,
                                        const std::function<void(std::size_t)>& execute) {
  if (!chip_) {
    const CountedChip chip = profiler_.chip(context);
    choice_ = choose_metrics(asked_, [&](const std::string& metric) {
      return has_metric(profiler_.library(), chip, metric);
    });
    chip_ = chip;
  }
  if (choice_.metrics.empty()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the chip {} has none of these metrics", chip_->name));
  }
  execute(1);
  // The first execution may load or allocate, so the second one is timed.
  const auto begin = std::chrono::steady_clock::now();
  execute(1);
  const std::size_t executions = executions_of_range(std::chrono::steady_clock::now() - begin);
  const MetricHost metrics(profiler_.library(), *chip_, choice_.names());
  const auto ranges = profiler_.count(context, metrics, kRanges, [&] { execute(executions); });
  worker::Observation seen = metric_observation(choice_, ranges, executions);
  seen.attributes["metrics"] = fmt::format("{}, {}, {} passes over {} ranges of {} executions",
                                           profiler_.library().version(),
                                           chip_->name,
                                           metrics.passes(),
                                           kRanges,
                                           executions);
  return seen;
}

}  // namespace plumb::cuda
