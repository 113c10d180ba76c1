// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/event_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/importers/traces/description_table.hpp"
#include "harness/importers/traces/nested_calls.hpp"
#include "harness/importers/traces/onednn_log.hpp"
#include "harness/importers/traces/trace_events.hpp"

namespace plumb::importers {
namespace {

constexpr std::string_view kKernelEnd = "_kernel_time";
constexpr std::string_view kLayer = "plumb_layer,";  // before the name of its first output

/// Returns whether an event of Kineto is around the calls of a whole graph that was compiled.
bool is_around_graph(const TraceEvent& event) {
  return event.name.starts_with("Torch-Compiled Region") ||
         event.name.starts_with("## Call CompiledFxGraph");
}

/// Collector of the calls and executions among a trace's events.
class CallCollector {
 public:
  /// Takes an event. Returns why no more may come; empty: they may.
  std::string take(TraceEvent& event) {
    const bool kernel = event.category == "Node" && event.name.ends_with(kKernelEnd);
    const bool op = event.category == "cpu_op" && !is_around_graph(event);
    const bool run = event.category == "Session" && event.name == "model_run";
    const bool step = event.name.starts_with("ProfilerStep#");
    const bool layer = event.category == "user_annotation" && event.name.starts_with(kLayer);
    of_kineto_ = of_kineto_ || op || step;
    if (!kernel && !op && !run && !step && !layer) {
      return {};
    }
    if (!event.start || !event.duration) {
      ++trace_.left_out;
      return {};
    }
    if (run || step) {
      // A step stands in the trace for each of its threads and devices.
      const bool again = !trace_.executions.empty() && step && last_step_ == event.name;
      last_step_ = event.name;
      if (!again && trace_.executions.size() < kMaxCalls) {
        trace_.executions.push_back({*event.start, *event.duration});
      }
      return {};
    }
    if (trace_.calls.size() + ranges_.size() >= kMaxCalls) {
      return fmt::format("it has more than {} calls: trace fewer executions", kMaxCalls);
    }
    processors_.insert(event.processors.begin(), event.processors.end());
    trace_.threads = std::max(trace_.threads, event.threads);
    (layer ? ranges_ : trace_.calls)
        .push_back({{*event.start,
                     *event.duration,
                     static_cast<std::uint64_t>(event.thread),
                     std::nullopt},
                    number_of_description(event,
                                          kernel  ? 'k'
                                          : layer ? 'l'
                                                  : 'o')});
    return {};
  }

  results::ExecutedTrace finish() {
    trace_.format = of_kineto_ ? "kineto" : "onnxruntime";
    trace_.timed = true;
    if (of_kineto_) {
      trace_.calls = outermost_calls(std::move(trace_.calls), descriptions_);
      place_in_ranges(trace_.calls, std::move(ranges_), descriptions_);
    }
    trace_.descriptions = std::move(descriptions_).take();
    trace_.processors = processors_.size();
    std::stable_sort(trace_.calls.begin(), trace_.calls.end(), [](const auto& a, const auto& b) {
      return a.start < b.start;
    });
    std::sort(trace_.executions.begin(), trace_.executions.end(), [](const auto& a, const auto& b) {
      return a.start < b.start;
    });
    for (results::TracedCall& call : trace_.calls) {
      const auto after = std::upper_bound(
          trace_.executions.begin(),
          trace_.executions.end(),
          call.start,
          [](Seconds start, const auto& execution) { return start < execution.start; });
      if (after != trace_.executions.begin() &&
          call.start <= (after - 1)->start + (after - 1)->duration) {
        call.execution = static_cast<std::uint32_t>(after - 1 - trace_.executions.begin());
      }
    }
    return std::move(trace_);
  }

 private:
  /// Returns the number of the event's description, which is made when it is the first of its kind.
  /// The event is a kernel 'k', an operator 'o', or the range of a layer 'l'.
  std::uint32_t number_of_description(TraceEvent& event, char kind) {
    text_.assign(1, kind);
    for (const std::string* part : {&event.name, &event.operation, &event.provider}) {
      (text_ += *part) += '\0';
    }
    for (const std::string& type : event.types) {
      (text_ += type) += '\0';
    }
    for (const std::vector<std::int64_t>& shape : event.inputs) {
      text_ += '[';
      for (const std::int64_t extent : shape) {
        fmt::format_to(std::back_inserter(text_), "{},", extent);
      }
    }
    const std::optional<std::uint32_t> known = descriptions_.find(text_);
    return known ? *known : descriptions_.add(text_, describe(event, kind));
  }

  [[nodiscard]] static results::CallDescription describe(TraceEvent& event, char kind) {
    results::CallDescription call;
    if (kind == 'l') {
      call.output = event.name.substr(kLayer.size());
      return call;
    }
    if (kind == 'k') {
      call.name = event.name.substr(0, event.name.size() - kKernelEnd.size());
      call.operation = std::move(event.operation);
      call.implementation = std::move(event.provider);
    } else {
      call.operation = std::move(event.name);
    }
    call.kind = kind_of_operator(call.operation);
    call.types = std::move(event.types);
    call.inputs = std::move(event.inputs);
    return call;
  }

  results::ExecutedTrace trace_;
  std::vector<results::TracedCall> ranges_;  // of layers
  DescriptionTable descriptions_;
  std::set<std::uint32_t> processors_;  // that threads of calls ran on
  std::string text_;                    // of the description looked for
  bool of_kineto_ = false;
  std::string last_step_;
};

}  // namespace

results::ExecutedTrace read_event_trace(std::istream& in) {
  CallCollector collector;
  read_trace_events(in, [&](TraceEvent& event) { return collector.take(event); });
  return collector.finish();
}

}  // namespace plumb::importers
