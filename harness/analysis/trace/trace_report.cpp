// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/trace_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedTrace::Call::Kind;

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

Json call_json(const model::Graph& graph,
               const TraceReport::Matched::Call& matched,
               Seconds origin) {
  const results::ExecutedTrace::Call& call = matched.call;
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

Json finding_json(const model::Graph& graph, const TraceReport::Finding& finding) {
  Json document{{"finding", to_text(finding.kind)},
                {"loss", is_loss(finding.kind) && !finding.minor},
                {"seconds", finding.time.count()},
                {"gain_seconds", compute_gain(finding).count()},
                {"layers", names_of(graph, finding.layers)},
                {"evidence", finding.evidence}};
  for (const TraceReport::Finding& place : finding.places) {
    document["places"].push_back({{"seconds", place.time.count()},
                                  {"layers", names_of(graph, place.layers)},
                                  {"evidence", place.evidence}});
  }
  return document;
}

/// Returns the earliest time, which the tracks begin at.
Seconds origin_of(const TraceReport::Matched& matched) {
  Seconds origin = matched.execution.start;
  if (matched.execution.duration == Seconds(0.0) && !matched.calls.empty()) {
    origin = matched.calls.front().call.start;
  }
  for (const TraceReport::Matched::Call& call : matched.calls) {
    origin = std::min(origin, call.call.start);
  }
  return origin;
}

void name_track(int track, const std::string& name, Json& events) {
  events.push_back(
      {{"ph", "M"}, {"pid", track}, {"name", "process_name"}, {"args", {{"name", name}}}});
}

/// Returns when each call began after the first one. Calls without start times follow each other.
std::vector<Seconds> compute_starts(const TraceReport::Matched& matched) {
  const Seconds origin = origin_of(matched);
  std::vector<Seconds> starts;
  Seconds at = origin;
  for (const TraceReport::Matched::Call& call : matched.calls) {
    at = call.call.start == Seconds(0.0) ? at : call.call.start;
    starts.push_back(at - origin);
    at += call.call.duration;
  }
  return starts;
}

void add_executed(const TraceReport& report, int track, Json& events) {
  const std::vector<Seconds> starts = compute_starts(report.matched);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const TraceReport::Matched::Call& matched = report.matched.calls[i];
    const results::ExecutedTrace::Call& call = matched.call;
    events.push_back({{"ph", "X"},
                      {"pid", track},
                      {"tid", call.thread},
                      {"ts", starts[i].count() * 1e6},
                      {"dur", call.duration.count() * 1e6},
                      {"cat", kind_text(call.kind)},
                      {"name", call.operation},
                      {"args",
                       {{"node", call.name},
                        {"implementation", call.implementation},
                        {"layouts", call.layouts},
                        {"layers", names_of(report.graph, matched.layers)}}}});
  }
}

/// Adds the layers, each where its first call is. Layers of one call share its time.
void add_expected(const TraceReport& report, int track, Json& events) {
  const std::vector<Seconds> starts = compute_starts(report.matched);
  std::set<model::LayerId> shown;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const TraceReport::Matched::Call& matched = report.matched.calls[i];
    if (matched.call.kind != CallKind::kCompute || matched.layers.empty()) {
      continue;
    }
    const double share =
        matched.call.duration.count() * 1e6 / static_cast<double>(matched.layers.size());
    double next = starts[i].count() * 1e6;
    for (const model::LayerId id : matched.layers) {
      const model::Layer& layer = report.graph.layers.at(id);
      if (shown.insert(id).second) {
        events.push_back({{"ph", "X"},
                          {"pid", track},
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
}

}  // namespace

Json trace_document(const TraceReport& report) {
  const TraceReport::Matched& matched = report.matched;
  const Seconds origin = origin_of(matched);
  Json calls = Json::array();
  for (const TraceReport::Matched::Call& call : matched.calls) {
    calls.push_back(call_json(report.graph, call, origin));
  }
  Json findings = Json::array();
  for (const TraceReport::Finding& finding : report.findings) {
    findings.push_back(finding_json(report.graph, finding));
  }
  return {{"schema_version", kJsonSchemaVersion},
          {"model", report.model},
          {"mode", report.mode},
          {"stack", report.stack},
          {"formats", report.formats},
          {"untraced_seconds", seconds_or_null(report.untraced)},
          {"executions", matched.executions},
          {"execution_seconds", matched.execution.duration.count()},
          {"threads", matched.threads == 0 ? Json() : Json(matched.threads)},
          {"processors", matched.processors == 0 ? Json() : Json(matched.processors)},
          {"traced_seconds", matched.traced.count()},
          {"matched_seconds", matched.matched.count()},
          {"not_executed", names_of(report.graph, matched.not_executed)},
          {"left_out", report.left_out},
          {"device_calls", report.device_calls},
          {"findings", std::move(findings)},
          {"calls", std::move(calls)}};
}

std::string execution_name(const TraceReport& report) {
  return report.stack.empty() ? fmt::format("{}", fmt::join(report.formats, " and "))
                              : fmt::format("{}, mode {}", report.stack, report.mode);
}

Json perfetto_document(const TraceReport& report, const TraceReport* against) {
  constexpr int kExecuted = 1;
  constexpr int kExpected = 2;
  constexpr int kAgainst = 3;
  Json events = Json::array();
  name_track(
      kExecuted, against == nullptr ? "executed" : "executed: " + execution_name(report), events);
  name_track(kExpected, "expected", events);
  add_executed(report, kExecuted, events);
  add_expected(report, kExpected, events);
  if (against != nullptr) {
    name_track(kAgainst, "against: " + execution_name(*against), events);
    add_executed(*against, kAgainst, events);
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

namespace {

using model::LayerId;

/// Sets of layers, joined where a call executes several of them.
class LayerSets {
 public:
  explicit LayerSets(std::size_t layers) : parents_(layers) {
    std::iota(parents_.begin(), parents_.end(), LayerId{0});
  }
  [[nodiscard]] LayerId first(LayerId layer) {
    while (parents_[layer] != layer) {
      parents_[layer] = parents_[parents_[layer]];
      layer = parents_[layer];
    }
    return layer;
  }
  void join(const std::vector<LayerId>& layers) {
    for (const LayerId layer : layers) {
      const LayerId one = first(layers.front());
      const LayerId other = first(layer);
      parents_[std::max(one, other)] = std::min(one, other);
    }
  }

 private:
  std::vector<LayerId> parents_;
};

Seconds execution_time(const TraceReport::Matched& trace) {
  return trace.execution.duration > Seconds(0.0) ? trace.execution.duration : trace.traced;
}

/// Adds the calls of one execution to the layers, and returns the time that no layer has.
TraceReport::Difference::Rest add_calls(
    const TraceReport::Matched& trace,
    LayerSets& sets,
    std::map<LayerId, TraceReport::Difference::Layer>& layers,
    TraceReport::Difference::Layer::Time TraceReport::Difference::Layer::*side) {
  for (const TraceReport::Matched::Call& call : trace.calls) {
    if (!call.layers.empty()) {
      TraceReport::Difference::Layer::Time& time = layers[sets.first(call.layers.front())].*side;
      const bool computes = call.call.kind == results::ExecutedTrace::Description::Kind::kCompute;
      (computes ? time.computing : time.moving) += call.call.duration;
    }
  }
  return {execution_time(trace) - trace.traced, trace.traced - trace.matched};
}

Json side_json(const TraceReport& report, Seconds time, const TraceReport::Difference::Rest& rest) {
  return {{"stack", report.stack},
          {"mode", report.mode},
          {"formats", report.formats},
          {"seconds", time.count()},
          {"traced_seconds", report.matched.traced.count()},
          {"matched_seconds", report.matched.matched.count()},
          {"untraced_seconds", seconds_or_null(report.untraced)},
          {"calls", report.matched.calls.size()},
          {"gap_seconds", rest.gaps.count()},
          {"not_matched_seconds", rest.unmatched.count()}};
}

Json time_json(const TraceReport::Difference::Layer::Time& time) {
  return {{"computing_seconds", time.computing.count()}, {"moving_seconds", time.moving.count()}};
}

}  // namespace

TraceReport::Difference compute_trace_difference(const model::Graph& graph,
                                                 const TraceReport::Matched& before,
                                                 const TraceReport::Matched& after) {
  LayerSets sets(graph.layers.size());
  for (const TraceReport::Matched* trace : {&before, &after}) {
    for (const TraceReport::Matched::Call& call : trace->calls) {
      sets.join(call.layers);
    }
  }
  TraceReport::Difference difference;
  std::map<LayerId, TraceReport::Difference::Layer> layers;
  difference.before = execution_time(before);
  difference.after = execution_time(after);
  difference.rest_before = add_calls(before, sets, layers, &TraceReport::Difference::Layer::before);
  difference.rest_after = add_calls(after, sets, layers, &TraceReport::Difference::Layer::after);
  for (LayerId id = 0; id < graph.layers.size(); ++id) {
    if (const auto found = layers.find(sets.first(id)); found != layers.end()) {
      found->second.layers.push_back(id);
    }
  }
  for (auto& [first, layer] : layers) {
    difference.layers.push_back(std::move(layer));
  }
  std::stable_sort(
      difference.layers.begin(),
      difference.layers.end(),
      [](const TraceReport::Difference::Layer& a, const TraceReport::Difference::Layer& b) {
        return std::chrono::abs(a.change()) > std::chrono::abs(b.change());
      });
  return difference;
}

Json difference_document(const TraceReport& before,
                         const TraceReport& after,
                         const TraceReport::Difference& difference) {
  Json layers = Json::array();
  for (const TraceReport::Difference::Layer& each : difference.layers) {
    Json names = Json::array();
    for (const LayerId id : each.layers) {
      names.push_back(before.graph.layers.at(id).name);
    }
    layers.push_back({{"layers", std::move(names)},
                      {"before", time_json(each.before)},
                      {"after", time_json(each.after)},
                      {"difference_seconds", each.change().count()}});
  }
  return {{"schema_version", kJsonSchemaVersion},
          {"model", before.model},
          {"before", side_json(before, difference.before, difference.rest_before)},
          {"after", side_json(after, difference.after, difference.rest_after)},
          {"difference_seconds", (difference.after - difference.before).count()},
          {"layers", std::move(layers)}};
}

}  // namespace plumb::analysis
