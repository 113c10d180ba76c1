// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "harness/importers/traces/trace_file.hpp"

namespace plumb::importers {
namespace {

/// Event of a trace in Chrome's format, as far as ONNX Runtime and Kineto say what was executed.
struct TraceEvent {
  std::string name;
  std::string category;
  std::optional<Seconds> start;
  std::optional<Seconds> duration;
  double thread = 0.0;
  std::string operation;
  std::string provider;
  std::vector<std::string> types;
  std::vector<std::vector<std::int64_t>> inputs;
  std::size_t threads = 1;                ///< that shared its work
  std::vector<std::uint32_t> processors;  ///< that they ran on
};

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kKeyLevels = 8;  // of the document, an event and its arguments
constexpr std::size_t kMaxShapes = 64;
constexpr std::size_t kMaxRank = 16;
constexpr std::size_t kMaxProcessors = 4096;

std::string cut(const std::string& text) {
  return text.substr(0, kMaxTraceText);
}

/// Returns a time in µs as seconds; nothing for what is none.
std::optional<Seconds> microseconds(double value) {
  return value >= 0.0 && value <= 1e18 ? std::optional(Seconds(value * 1e-6)) : std::nullopt;
}

/// Receiver of the values of a trace, in nlohmann's SAX form.
class EventReceiver {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit EventReceiver(const std::function<std::string(TraceEvent&)>& take) : take_(take) {}

  static bool null() { return true; }
  static bool boolean(bool /*value*/) { return true; }
  static bool binary(binary_t& /*value*/) { return true; }
  bool number_integer(number_integer_t value) { return take_number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return take_number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) { return take_number(value); }

  bool string(string_t& value) {
    if (!in_event_) {
      return true;
    }
    if (depth_ == base_ + 1) {
      if (key(base_ + 1) == "name") {
        event_.name = cut(value);
      } else if (key(base_ + 1) == "cat") {
        event_.category = cut(value);
      }
    } else if (in_arguments() && depth_ == base_ + 2) {
      if (key(base_ + 2) == "op_name") {
        event_.operation = cut(value);
      } else if (key(base_ + 2) == "provider") {
        event_.provider = cut(value);
      }
    } else if (in_arguments() && depth_ == base_ + 3 && key(base_ + 2) == "Input type" &&
               event_.types.size() < kMaxShapes) {
      event_.types.push_back(cut(value));
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (has_events() && depth_ == base_) {
      in_event_ = true;
      event_ = {};
    }
    return deepen();
  }

  bool key(string_t& value) {
    if (depth_ < kKeyLevels) {
      keys_[depth_] = value.size() <= kMaxTraceText ? value : std::string();
    }
    if (in_event_ && in_arguments() && depth_ == base_ + 4 &&
        key(base_ + 2) == "input_type_shape" && event_.types.size() < kMaxShapes) {
      event_.types.push_back(cut(value));
    }
    if (in_event_ && in_arguments() && depth_ == base_ + 4 && in_sub_threads()) {
      ++event_.threads;
    }
    return true;
  }

  bool end_object() {
    --depth_;
    if (in_event_ && depth_ == base_) {
      in_event_ = false;
      fault_ = take_(event_);
      return fault_.empty();
    }
    return true;
  }

  bool start_array(std::size_t /*size*/) {
    if (depth_ == 0) {
      base_ = 1;
    } else if (depth_ == 1 && base_ == 0 && key(1) == "traceEvents") {
      base_ = 2;
    }
    const bool shape_of_runtime = depth_ == base_ + 4 && key(base_ + 2) == "input_type_shape";
    const bool shape_of_kineto = depth_ == base_ + 3 && key(base_ + 2) == "Input Dims";
    if (in_event_ && in_arguments() && (shape_of_runtime || shape_of_kineto) &&
        event_.inputs.size() < kMaxShapes) {
      event_.inputs.emplace_back();
    }
    return deepen();
  }

  bool end_array() {
    --depth_;
    if (base_ != 0 && depth_ < base_) {
      ended_ = true;
    }
    return true;
  }

  bool parse_error(std::size_t place, const std::string& /*token*/, const std::exception& /*why*/) {
    fault_ = fmt::format("it is no JSON at byte {}", place);
    return false;
  }

  /// Ends reading. Throws Error{kUser} for what is no trace.
  void finish(bool complete) {
    if (!complete && fault_.empty()) {
      fault_ = "it ends too early";
    }
    if (fault_.empty() && base_ == 0) {
      fault_ = "it has no list of events";
    }
    if (!fault_.empty()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("this is not a trace of ONNX Runtime or Kineto: {}", fault_));
    }
  }

 private:
  [[nodiscard]] bool has_events() const { return base_ != 0 && !ended_; }
  [[nodiscard]] std::string_view key(std::size_t depth) const {
    return depth < kKeyLevels ? std::string_view(keys_[depth]) : std::string_view();
  }
  [[nodiscard]] bool in_sub_threads() const {
    return key(base_ + 2) == "thread_scheduling_stats" && key(base_ + 3) == "sub_threads";
  }
  [[nodiscard]] bool in_arguments() const { return depth_ > base_ + 1 && key(base_ + 1) == "args"; }

  bool deepen() {
    if (++depth_ > kDeepest) {
      fault_ = fmt::format("it is nested deeper than {}", kDeepest);
      return false;
    }
    if (depth_ < kKeyLevels) {
      keys_[depth_].clear();
    }
    return true;
  }

  bool take_number(double value) {
    if (!in_event_) {
      return true;
    }
    if (depth_ == base_ + 1) {
      if (key(base_ + 1) == "ts") {
        event_.start = microseconds(value);
      } else if (key(base_ + 1) == "dur") {
        event_.duration = microseconds(value);
      } else if (key(base_ + 1) == "tid" || key(base_ + 1) == "pid") {
        event_.thread += std::clamp(value, 0.0, 1e15);
      }
      return true;
    }
    if (in_arguments() && key(base_ + 2) == "thread_scheduling_stats") {
      take_processor(value);
      return true;
    }
    const bool of_runtime = depth_ == base_ + 5 && key(base_ + 2) == "input_type_shape";
    const bool of_kineto = depth_ == base_ + 4 && key(base_ + 2) == "Input Dims";
    if (in_arguments() && (of_runtime || of_kineto) && !event_.inputs.empty() &&
        event_.inputs.back().size() < kMaxRank && std::abs(value) < 1e15) {
      event_.inputs.back().push_back(static_cast<std::int64_t>(value));
    }
    return true;
  }

  /// Takes the processor that one of a call's threads ran on, if this number is one.
  void take_processor(double value) {
    const bool of_main = depth_ == base_ + 4 && key(base_ + 3) == "main_thread";
    const bool of_other = depth_ == base_ + 5 && in_sub_threads();
    if ((of_main || of_other) && key(depth_) == "core" && value >= 0.0 && value < 1e6 &&
        event_.processors.size() < kMaxProcessors) {
      event_.processors.push_back(static_cast<std::uint32_t>(value));
    }
  }

  const std::function<std::string(TraceEvent&)>& take_;
  std::array<std::string, kKeyLevels> keys_;
  std::size_t depth_ = 0;
  std::size_t base_ = 0;  // depth within the list of events; 0: it has not begun
  bool ended_ = false;
  bool in_event_ = false;
  TraceEvent event_;
  std::string fault_;
};

/// Reads the events of a trace one at a time, without keeping the text. Longer texts and lists are
/// cut.
///
/// `take` returns why it takes no more; empty: it goes on. Throws Error{kUser} with that reason,
/// and for what is no such trace or is nested deeper than 64.
void read_trace_events(std::istream& in, const std::function<std::string(TraceEvent&)>& take) {
  EventReceiver receiver(take);
  const bool complete = nlohmann::json::sax_parse(in, &receiver);
  receiver.finish(complete);
}

constexpr std::string_view kKernelEnd = "_kernel_time";
constexpr std::string_view kLayer = "plumb_layer,";  // before the name of its first output

/// Returns whether an event of Kineto is around the calls of a whole graph that was compiled.
bool is_around_graph(const TraceEvent& event) {
  return event.name.starts_with("Torch-Compiled Region") ||
         event.name.starts_with("## Call CompiledFxGraph");
}

/// Returns whether an event of Kineto is torch.compile at work. Its outer events have names of
/// their own from PyTorch 2.13 on.
bool is_compilation(const TraceEvent& event) {
  return (event.category == "user_annotation" || event.category == "cpu_op") &&
         (event.name.ends_with("(dynamo_timed)") || event.name == "entire_frame_compile" ||
          event.name == "backend_compile");
}

/// Returns whether an event is a kernel or copy of a GPU, in a trace of Kineto or ONNX Runtime.
bool is_of_device(const TraceEvent& event) {
  return event.category == "kernel" || event.category == "Kernel" ||
         event.category == "gpu_memcpy" || event.category == "gpu_memset";
}

/// Collector of the calls and executions among a trace's events.
class CallCollector {
 public:
  /// Takes an event. Returns why no more may come; empty: they may.
  std::string take(TraceEvent& event) {
    const bool kernel = event.category == "Node" && event.name.ends_with(kKernelEnd);
    const bool compilation = is_compilation(event);
    const bool op = event.category == "cpu_op" && !is_around_graph(event) && !compilation;
    const bool run = event.category == "Session" && event.name == "model_run";
    const bool step =
        event.name.starts_with("ProfilerStep#") && event.category != "gpu_user_annotation";
    const bool layer = event.category == "user_annotation" && event.name.starts_with(kLayer);
    of_kineto_ = of_kineto_ || op || step || compilation;
    trace_.device_calls += is_of_device(event) ? 1U : 0U;
    if (!kernel && !op && !run && !step && !layer && !compilation) {
      return {};
    }
    if (!event.start || !event.duration) {
      ++trace_.left_out;
      return {};
    }
    if (run || step) {
      // A step stands in the trace for each of its threads.
      if (trace_.executions.size() < kMaxCalls && (run || steps_.insert(event.name).second)) {
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
                                          kernel        ? 'k'
                                          : layer       ? 'l'
                                          : compilation ? 'c'
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
    for (results::ExecutedTrace::TracedCall& call : trace_.calls) {
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
  /// The event is a kernel 'k', an operator 'o', the range of a layer 'l', or a compilation 'c'.
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

  [[nodiscard]] static results::ExecutedTrace::Description describe(TraceEvent& event, char kind) {
    results::ExecutedTrace::Description call;
    if (kind == 'l') {
      call.output = event.name.substr(kLayer.size());
      return call;
    }
    if (kind == 'c') {
      call.kind = results::ExecutedTrace::Description::Kind::kCreation;
      call.operation = results::kModelCompilation;
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
  std::vector<results::ExecutedTrace::TracedCall> ranges_;  // of layers
  DescriptionTable descriptions_;
  std::set<std::uint32_t> processors_;  // that threads of calls ran on
  std::string text_;                    // of the description looked for
  bool of_kineto_ = false;
  std::set<std::string> steps_;  // names of those among the executions
};

}  // namespace

results::ExecutedTrace read_event_trace(std::istream& in) {
  CallCollector collector;
  read_trace_events(in, [&](TraceEvent& event) { return collector.take(event); });
  return collector.finish();
}

}  // namespace plumb::importers
