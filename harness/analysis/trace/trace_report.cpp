// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/trace_report.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedCall::Kind;

constexpr std::array kCallKinds{std::pair{CallKind::kCompute, "compute"},
                                std::pair{CallKind::kReorder, "reorder"},
                                std::pair{CallKind::kCopy, "copy"},
                                std::pair{CallKind::kPad, "pad"},
                                std::pair{CallKind::kWait, "wait"},
                                std::pair{CallKind::kCreation, "creation"}};

std::string_view kind_text(CallKind kind) {
  const auto* const row = std::find_if(
      kCallKinds.begin(), kCallKinds.end(), [&](const auto& each) { return each.first == kind; });
  PLUMB_CHECK(row != kCallKinds.end());
  return row->second;
}

Json names_of(const model::Graph& graph, const std::vector<model::LayerId>& layers) {
  Json names = Json::array();
  for (const model::LayerId layer : layers) {
    names.push_back(graph.layers.at(layer).name);
  }
  return names;
}

Json call_json(const model::Graph& graph, const MatchedCall& matched, Seconds origin) {
  const results::ExecutedCall& call = matched.call;
  return {{"operation", call.operation},
          {"name", call.name},
          {"kind", kind_text(call.kind)},
          {"implementation", call.implementation},
          {"layouts", call.layouts},
          {"types", call.types},
          {"start_seconds", (call.start - origin).count()},
          {"seconds", call.duration.count()},
          {"thread", call.thread},
          {"layers", names_of(graph, matched.layers)}};
}

/// Returns the earliest time, which the tracks begin at.
Seconds origin_of(const MatchedTrace& matched) {
  Seconds origin = matched.execution.start;
  if (matched.execution.duration == Seconds(0.0) && !matched.calls.empty()) {
    origin = matched.calls.front().call.start;
  }
  for (const MatchedCall& call : matched.calls) {
    origin = std::min(origin, call.call.start);
  }
  return origin;
}

}  // namespace

Json trace_document(const TraceReport& report) {
  const MatchedTrace& matched = report.matched;
  const Seconds origin = origin_of(matched);
  Json calls = Json::array();
  for (const MatchedCall& call : matched.calls) {
    calls.push_back(call_json(report.graph, call, origin));
  }
  Json findings = Json::array();
  for (const TraceFinding& finding : report.findings) {
    findings.push_back({{"finding", to_text(finding.kind)},
                        {"loss", is_loss(finding.kind)},
                        {"seconds", finding.time.count()},
                        {"layers", names_of(report.graph, finding.layers)},
                        {"evidence", finding.evidence}});
  }
  return {{"schema_version", kJsonSchemaVersion},
          {"model", report.model},
          {"mode", report.mode},
          {"stack", report.stack},
          {"formats", report.formats},
          {"untraced_seconds", report.untraced ? Json(report.untraced->count()) : Json()},
          {"executions", matched.executions},
          {"execution_seconds", matched.execution.duration.count()},
          {"traced_seconds", matched.traced.count()},
          {"matched_seconds", matched.matched.count()},
          {"not_executed", names_of(report.graph, matched.not_executed)},
          {"left_out", report.left_out},
          {"findings", std::move(findings)},
          {"calls", std::move(calls)}};
}

Json perfetto_document(const TraceReport& report) {
  constexpr int kExecuted = 1;
  constexpr int kExpected = 2;
  Json events = Json::array();
  for (const auto& [track, name] :
       {std::pair{kExecuted, "executed"}, std::pair{kExpected, "expected"}}) {
    events.push_back(
        {{"ph", "M"}, {"pid", track}, {"name", "process_name"}, {"args", {{"name", name}}}});
  }
  const Seconds origin = origin_of(report.matched);
  std::set<model::LayerId> shown;
  Seconds at = origin;  // of calls without start times
  for (const MatchedCall& matched : report.matched.calls) {
    const results::ExecutedCall& call = matched.call;
    at = call.start == Seconds(0.0) ? at : call.start;
    const double start = (at - origin).count() * 1e6;
    const double duration = call.duration.count() * 1e6;
    at += call.duration;
    events.push_back({{"ph", "X"},
                      {"pid", kExecuted},
                      {"tid", call.thread},
                      {"ts", start},
                      {"dur", duration},
                      {"cat", kind_text(call.kind)},
                      {"name", call.operation},
                      {"args",
                       {{"node", call.name},
                        {"implementation", call.implementation},
                        {"layouts", call.layouts},
                        {"layers", names_of(report.graph, matched.layers)}}}});
    if (call.kind != CallKind::kCompute || matched.layers.empty()) {
      continue;
    }
    const double share = duration / static_cast<double>(matched.layers.size());
    double next = start;
    for (const model::LayerId id : matched.layers) {
      const model::Layer& layer = report.graph.layers.at(id);
      if (shown.insert(id).second) {
        events.push_back({{"ph", "X"},
                          {"pid", kExpected},
                          {"tid", 0},
                          {"ts", next},
                          {"dur", share},
                          {"cat", "layer"},
                          {"name", layer.onnx_op},
                          {"args", {{"layer", layer.name}, {"key", layer.key.text}}}});
      }
      next += share;
    }
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace plumb::analysis
