// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/matched_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/analysis/trace/call_matcher.hpp"

namespace plumb::analysis {
namespace {

/// Returns the number of the execution of median duration. Absent: the trace has none.
std::optional<std::size_t> median_execution(const results::ExecutedTrace& trace) {
  if (trace.executions.empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> order(trace.executions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return trace.executions[a].duration < trace.executions[b].duration;
  });
  return *middle;
}

/// Returns whether a trace has the calls of a library alone, not those of a runtime.
bool is_of_library(const results::ExecutedTrace& trace) {
  return trace.format != "onnxruntime" && trace.format != "kineto";
}

/// Returns, for each call, the median duration of what is the same call in every execution: the
/// n-th of its description.
std::vector<Seconds> compute_typical_times(const results::ExecutedTrace& trace) {
  std::vector<Seconds> typical;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> counts;  // description, execution
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::size_t>> same;  // and its place
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const results::TracedCall& call = trace.calls[i];
    typical.push_back(call.duration);
    if (call.execution) {
      const std::size_t place = counts[{call.description, *call.execution}]++;
      same[{call.description, place}].push_back(i);
    }
  }
  for (const auto& [description, calls] : same) {
    std::vector<Seconds> times;
    for (const std::size_t i : calls) {
      times.push_back(trace.calls[i].duration);
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    for (const std::size_t i : calls) {
      typical[i] = *middle;
    }
  }
  return typical;
}

}  // namespace

MatchedTrace match_trace(const model::Graph& graph, const results::ExecutedTrace& trace) {
  MatchedTrace matched;
  const std::optional<std::size_t> execution = median_execution(trace);
  if (execution) {
    matched.execution = trace.executions[*execution];
    matched.executions = trace.executions.size();
  }
  const std::vector<Seconds> typical = compute_typical_times(trace);
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    if (!execution || trace.calls[i].execution == execution) {
      matched.calls.push_back({trace.call(i), {}, typical[i]});
    }
  }
  matched.threads = trace.threads;
  matched.processors = trace.processors;
  matched.partial = is_of_library(trace) && !execution;
  match_calls(graph, matched);
  return matched;
}

}  // namespace plumb::analysis
