// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/mlperf/mlperf_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::loadgen {
namespace {

bool is_error(const Shortfall& shortfall) {
  return shortfall.kind == Shortfall::Kind::kDropped ||
         shortfall.kind == Shortfall::Kind::kFailed ||
         shortfall.kind == Shortfall::Kind::kMiscounted;
}

std::vector<std::string> texts(const LoadResult& result, bool errors) {
  std::vector<std::string> found;
  for (const Shortfall& shortfall : result.shortfalls) {
    if (is_error(shortfall) == errors) {
      found.push_back(shortfall.text);
    }
  }
  return found;
}

}  // namespace

std::string_view mlperf_name(LoadScenario scenario) {
  switch (scenario) {
    case LoadScenario::kSingleStream:
      return "SingleStream";
    case LoadScenario::kMultiStream:
      return "MultiStream";
    case LoadScenario::kServer:
      return "Server";
    case LoadScenario::kOffline:
      return "Offline";
  }
  return "";
}

std::string_view mlperf_name(LoadMode mode) {
  return mode == LoadMode::kAccuracy ? "AccuracyOnly" : "PerformanceOnly";
}

std::vector<std::string> early_stopping_lines(const LoadResult& result) {
  if (!result.early_stopping) {
    return {};
  }
  const EarlyStopping& stopping = *result.early_stopping;
  const bool server = result.load.scenario == LoadScenario::kServer;
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

bool is_met(const LoadResult& result, Shortfall::Kind kind) {
  return std::none_of(result.shortfalls.begin(),
                      result.shortfalls.end(),
                      [kind](const Shortfall& shortfall) { return shortfall.kind == kind; });
}

std::vector<std::string> error_texts(const LoadResult& result) {
  return texts(result, true);
}
std::vector<std::string> reason_texts(const LoadResult& result) {
  return texts(result, false);
}

}  // namespace plumb::loadgen
