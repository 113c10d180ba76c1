// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/counter_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "harness/base/error.hpp"

namespace plumb::cuda {

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
