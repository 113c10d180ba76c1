// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/trace_difference.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <utility>

namespace plumb::analysis {
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

Seconds execution_time(const MatchedTrace& trace) {
  return trace.execution.duration > Seconds(0.0) ? trace.execution.duration : trace.traced;
}

/// Adds the calls of one execution to the layers, and returns the time that no layer has.
TraceDifference::Rest add_calls(const MatchedTrace& trace,
                                LayerSets& sets,
                                std::map<LayerId, TraceDifference::Layer>& layers,
                                TraceDifference::Layer::Time TraceDifference::Layer::*side) {
  for (const MatchedCall& call : trace.calls) {
    if (!call.layers.empty()) {
      TraceDifference::Layer::Time& time = layers[sets.first(call.layers.front())].*side;
      const bool computes = call.call.kind == results::CallDescription::Kind::kCompute;
      (computes ? time.computing : time.moving) += call.call.duration;
    }
  }
  return {execution_time(trace) - trace.traced, trace.traced - trace.matched};
}

Json side_json(const TraceReport& report, Seconds time, const TraceDifference::Rest& rest) {
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

Json time_json(const TraceDifference::Layer::Time& time) {
  return {{"computing_seconds", time.computing.count()}, {"moving_seconds", time.moving.count()}};
}

}  // namespace

TraceDifference compute_trace_difference(const model::Graph& graph,
                                         const MatchedTrace& before,
                                         const MatchedTrace& after) {
  LayerSets sets(graph.layers.size());
  for (const MatchedTrace* trace : {&before, &after}) {
    for (const MatchedCall& call : trace->calls) {
      sets.join(call.layers);
    }
  }
  TraceDifference difference;
  std::map<LayerId, TraceDifference::Layer> layers;
  difference.before = execution_time(before);
  difference.after = execution_time(after);
  difference.rest_before = add_calls(before, sets, layers, &TraceDifference::Layer::before);
  difference.rest_after = add_calls(after, sets, layers, &TraceDifference::Layer::after);
  for (LayerId id = 0; id < graph.layers.size(); ++id) {
    if (const auto found = layers.find(sets.first(id)); found != layers.end()) {
      found->second.layers.push_back(id);
    }
  }
  for (auto& [first, layer] : layers) {
    difference.layers.push_back(std::move(layer));
  }
  std::stable_sort(difference.layers.begin(),
                   difference.layers.end(),
                   [](const TraceDifference::Layer& a, const TraceDifference::Layer& b) {
                     return std::chrono::abs(a.change()) > std::chrono::abs(b.change());
                   });
  return difference;
}

Json difference_document(const TraceReport& before,
                         const TraceReport& after,
                         const TraceDifference& difference) {
  Json layers = Json::array();
  for (const TraceDifference::Layer& each : difference.layers) {
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
