// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/analysis/trace/executed_calls.hpp"
#include "harness/analysis/trace/trace_report.hpp"

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedTrace::Call::Kind;

/// Operators that no runtime hides in a call of another layer.
constexpr std::array<std::string_view, 10> kProducts{"conv",
                                                     "conv_transpose",
                                                     "gemm",
                                                     "matmul",
                                                     "conv_integer",
                                                     "matmul_integer",
                                                     "lstm",
                                                     "gru",
                                                     "max_pool",
                                                     "average_pool"};

// How ONNX Runtime names some of the nodes that it fused: "fused gemm0".
constexpr std::string_view kFusedPrefix = "fused ";
// Layers that a call may have fused before the one that it is named after.
constexpr std::size_t kLongestPath = 5;
constexpr std::size_t kMaxPaths = 64;

bool is_product(const model::Layer& layer) {
  return std::find(kProducts.begin(), kProducts.end(), layer.spec.op) != kProducts.end();
}

/// Matcher of one execution's calls.
class Matcher {
 public:
  Matcher(const model::Graph& graph, TraceReport::Matched& matched)
      : graph_(graph), matched_(matched), call_of_(graph.layers.size()) {}

  void match() {
    name_layers();
    for (std::size_t i = 0; i < matched_.calls.size(); ++i) {
      take_published(i);
    }
    for (std::size_t i = 0; i < matched_.calls.size(); ++i) {
      take_named(i);
    }
    for (std::size_t i = 0; i < matched_.calls.size(); ++i) {
      take_fitting(i);
    }
    for (TraceReport::Matched::Call& call : matched_.calls) {
      std::sort(call.layers.begin(), call.layers.end());
    }
    place_movements();
    if (!matched_.partial) {
      place_fused();
    }
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      if (graph_.layers[id].role == model::Layer::Role::kCompute && !call_of_[id]) {
        matched_.not_executed.push_back(id);
      }
    }
    for (TraceReport::Matched::Call& call : matched_.calls) {
      std::sort(call.layers.begin(), call.layers.end());
      matched_.traced += call.call.duration;
      matched_.matched += call.layers.empty() ? Seconds(0.0) : call.call.duration;
    }
  }

 private:
  void name_layers() {
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      const model::Layer& layer = graph_.layers[id];
      if (!layer.name.empty()) {
        layers_by_name_.emplace(layer.name, id);
      }
      for (const model::ValueId output : layer.outputs) {
        layers_by_name_.emplace(graph_.values[output].name, id);
        layers_by_output_.emplace(graph_.values[output].name, id);
        layers_by_name_.emplace(fmt::format("v{}", output), id);  // as our worker names it
      }
    }
  }

  void assign(std::size_t index, model::LayerId layer) {
    matched_.calls[index].layers.push_back(layer);
    if (!call_of_[layer] && matched_.calls[index].call.kind == CallKind::kCompute) {
      call_of_[layer] = index;
    }
  }

  void take_published(std::size_t index) {
    results::ExecutedTrace::Call& call = matched_.calls[index].call;
    for (const std::size_t layer : call.layers.value_or(std::vector<std::size_t>())) {
      if (layer < graph_.layers.size()) {
        assign(index, layer);
        call_of_[layer] = call_of_[layer].value_or(index);
      }
    }
    const auto found = layers_by_output_.find(call.output);
    if (!call.output.empty() && found != layers_by_output_.end()) {
      if (may_execute(call.operation, graph_.layers[found->second].onnx_op)) {
        call.kind = CallKind::kCompute;  // also where a layer is a transposition
      }
      assign(index, found->second);
    }
  }

  /// Finds the layer of a node's name, or of its beginning: runtimes add to the names of nodes.
  void take_named(std::size_t index) {
    const TraceReport::Matched::Call& call = matched_.calls[index];
    if (!call.layers.empty() || call.call.name.empty()) {
      return;
    }
    std::string name = call.call.name;
    if (name.starts_with(kFusedPrefix)) {
      name.erase(0, kFusedPrefix.size());
    }
    const std::size_t whole = name.size();
    while (!name.empty()) {
      if (const auto found = layers_by_name_.find(name); found != layers_by_name_.end()) {
        // A fused node may have the name of its last result.
        const std::vector<model::LayerId> path = path_to_executed(call.call, found->second);
        for (const model::LayerId layer : path) {
          assign(index, layer);
        }
        if (!path.empty()) {
          return;
        }
        if (name.size() == whole) {
          assign(index, found->second);  // an operation of the runtime's own
          return;
        }
      }
      const std::size_t end = name.find_last_of("/_");
      name.resize(end == std::string::npos ? 0 : end);
    }
  }

  /// Returns the layers from one that a call may execute to `last`, which it named. Empty: none of
  /// the few before `last` may be it.
  [[nodiscard]] std::vector<model::LayerId> path_to_executed(
      const results::ExecutedTrace::Call& call, model::LayerId last) const {
    std::vector<std::vector<model::LayerId>> paths{{last}};
    for (std::size_t next = 0; next < paths.size() && next < kMaxPaths; ++next) {
      std::vector<model::LayerId> path = paths[next];
      const model::Layer& layer = graph_.layers[path.back()];
      if (may_execute(call.operation, layer.onnx_op)) {
        return path;
      }
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        const std::optional<model::LayerId> producer =
            input ? graph_.values[*input].producer : std::nullopt;
        if (producer && !call_of_[*producer] && path.size() < kLongestPath) {
          paths.push_back(path);
          paths.back().push_back(*producer);
        }
      }
    }
    return {};
  }

  void take_fitting(std::size_t index) {
    const TraceReport::Matched::Call& call = matched_.calls[index];
    if (!call.layers.empty() || call.call.kind == CallKind::kCreation ||
        call.call.kind == CallKind::kWait) {
      return;
    }
    if (is_made_kernel(call.call.operation)) {
      take_ready(index);
      return;
    }
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      const model::Layer& layer = graph_.layers[id];
      if (!call_of_[id] && layer.role != model::Layer::Role::kFolded &&
          may_execute(call.call.operation, layer.onnx_op) && fits_shapes(call.call, layer)) {
        assign(index, id);
        call_of_[id] = index;  // also where a layer is a transposition
        matched_.calls[index].call.kind = CallKind::kCompute;
        return;
      }
    }
  }

  /// Gives a kernel that was made of several operators all layers that it may execute and whose
  /// operands are computed by then. One without such a layer lays out the operands of a product.
  void take_ready(std::size_t index) {
    TraceReport::Matched::Call& call = matched_.calls[index];
    std::vector<bool> computed(graph_.layers.size(), false);
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {  // topological
      const model::Layer& layer = graph_.layers[id];
      const bool ready = std::all_of(layer.inputs.begin(),
                                     layer.inputs.end(),
                                     [&](const std::optional<model::ValueId>& input) {
                                       const std::optional<model::LayerId> producer =
                                           input ? graph_.values[*input].producer : std::nullopt;
                                       return !producer || computed[*producer];
                                     });
      const bool computes = layer.role == model::Layer::Role::kCompute;
      if (ready && computes && !call_of_[id] && may_execute(call.call.operation, layer.onnx_op)) {
        assign(index, id);
      }
      computed[id] = call_of_[id] || (ready && !computes);
    }
    if (call.layers.empty() && call.call.operation.find("_convolution_") != std::string::npos) {
      call.call.kind = CallKind::kReorder;
    }
  }

  /// Gives what moves data to the layer of the next call, or of the one before at the end.
  void place_movements() {
    const auto moves = [](const TraceReport::Matched::Call& call) {
      const CallKind kind = call.call.kind;
      return kind == CallKind::kReorder || kind == CallKind::kCopy || kind == CallKind::kPad;
    };
    std::optional<model::LayerId> next;
    for (std::size_t i = matched_.calls.size(); i-- > 0;) {
      TraceReport::Matched::Call& call = matched_.calls[i];
      if (call.layers.empty() && moves(call) && next) {
        call.layers = {*next};
      } else if (!call.layers.empty() && !moves(call)) {
        next = call.layers.front();
      }
    }
    std::optional<model::LayerId> last;
    for (TraceReport::Matched::Call& call : matched_.calls) {
      if (call.layers.empty() && moves(call) && last) {
        call.layers = {*last};
      } else if (!call.layers.empty()) {
        last = call.layers.back();
      }
    }
  }

  void place_fused() {
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {  // topological
      const model::Layer& layer = graph_.layers[id];
      if (call_of_[id] || layer.role == model::Layer::Role::kFolded || is_product(layer)) {
        continue;
      }
      std::optional<model::LayerId> before;  // the last of the layers that it reads
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        const std::optional<model::LayerId> producer =
            input ? graph_.values[*input].producer : std::nullopt;
        if (producer && call_of_[*producer]) {
          before = std::max(before.value_or(0), *producer);
        }
      }
      if (before) {
        call_of_[id] = call_of_[*before];
        if (layer.role == model::Layer::Role::kCompute) {
          matched_.calls[*call_of_[id]].layers.push_back(id);
        }
      }
    }
  }

  const model::Graph& graph_;
  TraceReport::Matched& matched_;
  std::vector<std::optional<std::size_t>> call_of_;  // by layer: the first that computes it
  std::unordered_map<std::string, model::LayerId> layers_by_name_;
  std::unordered_map<std::string, model::LayerId> layers_by_output_;
};

/// Matches the calls of one execution to the layers of a model, and adds up the time that is
/// matched. See match_trace() for the rules.
void match_calls(const model::Graph& graph, TraceReport::Matched& matched) {
  Matcher(graph, matched).match();
}

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
    const results::ExecutedTrace::TracedCall& call = trace.calls[i];
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

/// Adds up the compilations of the model in the executions of a trace.
void add_compilations(const results::ExecutedTrace& trace, TraceReport::Matched& matched) {
  std::set<std::optional<std::uint32_t>> compiled;
  for (const results::ExecutedTrace::TracedCall& call : trace.calls) {
    const results::ExecutedTrace::Description& description = trace.description_of(call);
    if (description.kind == CallKind::kCreation &&
        description.operation == results::kModelCompilation &&
        (call.execution || trace.executions.empty())) {
      matched.compilation += call.duration;
      compiled.insert(call.execution);
    }
  }
  matched.compiled = compiled.size();
}

}  // namespace

TraceReport::Matched match_trace(const model::Graph& graph, const results::ExecutedTrace& trace) {
  TraceReport::Matched matched;
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
  add_compilations(trace, matched);
  matched.threads = trace.threads;
  matched.processors = trace.processors;
  matched.partial = is_of_library(trace) && !execution;
  match_calls(graph, matched);
  return matched;
}

}  // namespace plumb::analysis
