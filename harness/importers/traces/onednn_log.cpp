// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/importers/traces/trace_file.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kMaxLayers = 1000;

using Fields = std::vector<std::string_view>;
using Kind = results::ExecutedTrace::Call::Kind;

/// Returns a time of 0 to 10^12 units; nothing for what is none.
std::optional<double> parsed_time(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && *value >= 0.0 && *value <= 1e13 ? value : std::nullopt;
}

std::string cut(std::string_view text) {
  return std::string(text.substr(0, kMaxTraceText));
}

/// Element type and layout of an operand: "src_f32::blocked:acdb:f0" or
/// "src:f32:a:blocked:acdb::f0".
struct Descriptor {
  std::string_view name;
  std::string_view type;
  std::string_view tag;
};

Descriptor parse_descriptor(std::string_view text) {
  const Fields fields = split(text, ':');
  Descriptor descriptor{fields[0], {}, {}};
  const std::size_t joint = fields[0].rfind('_');
  if (joint != std::string_view::npos) {
    descriptor.name = fields[0].substr(0, joint);
    descriptor.type = fields[0].substr(joint + 1);
  } else if (fields.size() > 1) {
    descriptor.type = fields[1];
  }
  const auto blocked = std::find(fields.begin(), fields.end(), "blocked");
  if (blocked != fields.end() && blocked + 1 != fields.end()) {
    descriptor.tag = *(blocked + 1);
  }
  return descriptor;
}

/// Step of a worker's plan.
struct Step {
  Seconds start{};  ///< of its next call
  std::string layers;
  bool has_calls = false;
};

/// Reader of one log, line by line.
class LogReader {
 public:
  results::ExecutedTrace read(std::istream& in) {
    trace_.format = "onednn";
    read_lines(in, [this](std::string_view line) { take(line); });
    trace_.descriptions = std::move(descriptions_).take();
    return std::move(trace_);
  }

 private:
  void take(std::string_view line) {
    // Several threads may write at once: a line may begin in the middle of another.
    for (const std::string_view prefix : {"onednn_verbose,", "dnnl_verbose,"}) {
      const std::size_t at = line.find(prefix);
      if (at != std::string_view::npos) {
        take_call(line.substr(at + prefix.size()));
        return;
      }
    }
    if (line.starts_with("plumb_step,")) {
      take_step(split(line, ','));
    } else if (line.starts_with("plumb_step_end,")) {
      end_step(split(line, ','));
    } else if (line.starts_with("plumb_execution,")) {
      take_execution(split(line, ','));
    } else if (line.starts_with("plumb_threads,")) {
      take_threads(split(line, ','));
    }
  }

  void take_call(std::string_view text) {
    Fields fields = split(text, ',');
    std::size_t at = 0;
    const auto skip = [&](std::string_view word) {
      at += at < fields.size() && fields[at] == word ? std::size_t{1} : std::size_t{0};
    };
    skip("v1");
    std::optional<double> stamp;
    if (at < fields.size() && (stamp = parsed_time(fields[at]))) {
      ++at;
    }
    skip("primitive");
    if (at >= fields.size()) {
      return;
    }
    if (fields[at] == "info") {
      take_facts({fields.begin() + static_cast<std::ptrdiff_t>(at) + 1, fields.end()});
      return;
    }
    const bool creates = fields[at].starts_with("create");
    if (fields[at] != "exec" && !creates) {
      return;  // of another component, or not of executing
    }
    if (creates && fields[at] == "create:cache_hit") {
      return;
    }
    add_call({fields.begin() + static_cast<std::ptrdiff_t>(at), fields.end()}, stamp, creates);
  }

  /// Takes how many threads there are, or the order of the fields.
  void take_facts(const Fields& fields) {
    constexpr std::string_view kThreads = "nthr:";
    for (const std::string_view field : fields) {
      if (field.starts_with(kThreads)) {
        trace_.threads = parse_number<std::size_t>(field.substr(kThreads.size())).value_or(0);
      }
    }
    take_template(fields);
  }

  void take_template(const Fields& fields) {
    const std::size_t colon = fields.empty() ? std::string_view::npos : fields[0].find("template:");
    if (colon == std::string_view::npos) {
      return;
    }
    columns_.clear();
    columns_.emplace_back(fields[0].substr(colon + std::string_view("template:").size()));
    for (std::size_t i = 1; i < fields.size(); ++i) {
      columns_.emplace_back(fields[i]);
    }
    std::erase(columns_, "timestamp");
    ++templates_;
  }

  [[nodiscard]] std::string_view field(const Fields& fields, std::string_view column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column);
    const auto index = static_cast<std::size_t>(at - columns_.begin());
    return at == columns_.end() || index >= fields.size() ? std::string_view() : fields[index];
  }

  void add_call(const Fields& fields, std::optional<double> stamp, bool creates) {
    const std::string_view time_text = field(fields, "exec_time");
    const std::optional<double> time = parsed_time(time_text);
    if (!time || field(fields, "primitive").empty()) {
      ++trace_.left_out;
      return;
    }
    if (trace_.calls.size() >= kMaxCalls) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the log has more than {} calls: trace fewer executions", kMaxCalls));
    }
    // Two lines that differ in their times alone describe one call.
    text_.assign(1, static_cast<char>(templates_));
    text_ += step_ ? 's' + step_->layers : std::string("-");
    for (const std::string_view field : fields) {
      if (field.data() != time_text.data()) {
        (text_ += ',') += field;
      }
    }
    std::optional<std::uint32_t> description = descriptions_.find(text_);
    if (!description) {
      description = descriptions_.add(text_, describe(fields, creates));
    }
    results::ExecutedTrace::TracedCall call{{{}, Seconds(*time * 1e-3), 0, std::nullopt},
                                            *description};
    if (step_) {  // its clock is finer than the log's
      call.start = step_->start;
      step_->start += call.duration;
      trace_.timed = true;
    } else if (stamp) {
      call.start = Seconds(*stamp * 1e-3);
      trace_.timed = true;
    }
    add(call);
  }

  [[nodiscard]] results::ExecutedTrace::Description describe(const Fields& fields,
                                                             bool creates) const {
    const std::string_view operation = field(fields, "primitive");
    results::ExecutedTrace::Description call;
    call.kind =
        creates ? Kind::kCreation : (operation == "reorder" ? Kind::kReorder : Kind::kCompute);
    call.operation = cut(operation);
    call.implementation = cut(field(fields, "implementation"));
    call.problem = cut(field(fields, "problem_desc"));
    for (const std::string_view text : split(field(fields, "memory_descriptors"), ' ')) {
      const Descriptor descriptor = parse_descriptor(text);
      if (!text.empty() && call.layouts.size() < kMaxTraceText) {
        call.types.emplace_back(cut(descriptor.type));
        call.layouts += fmt::format("{}{}:{}",
                                    call.layouts.empty() ? "" : " ",
                                    descriptor.name.substr(0, kMaxTraceText),
                                    descriptor.tag.substr(0, kMaxTraceText));
      }
    }
    call.layers = layers_of_step();
    return call;
  }

  /// Returns the layers that the worker named. Absent: it named no step.
  [[nodiscard]] std::optional<std::vector<std::size_t>> layers_of_step() const {
    if (!step_) {
      return std::nullopt;
    }
    std::vector<std::size_t> layers;
    for (const std::string_view text : split(step_->layers, '+')) {
      const std::optional<std::size_t> layer = parse_number<std::size_t>(text);
      if (layer && layers.size() < kMaxLayers) {
        layers.push_back(*layer);
      }
    }
    return layers;
  }

  void add(results::ExecutedTrace::TracedCall call) {
    if (step_) {
      step_->has_calls = true;
    }
    if (executing_) {
      call.execution = static_cast<std::uint32_t>(trace_.executions.size() - 1);
    }
    trace_.calls.push_back(call);
  }

  void take_step(const Fields& fields) {
    const std::optional<double> at = fields.size() == 4 ? parsed_time(fields[2]) : std::nullopt;
    if (!at) {
      ++trace_.left_out;
      return;
    }
    step_ = Step{Seconds(*at), std::string(fields[3])};
  }

  /// Ends a step. One that called nothing of the library was a kernel of the worker's own.
  void end_step(const Fields& fields) {
    const std::optional<double> time = fields.size() == 2 ? parsed_time(fields[1]) : std::nullopt;
    if (!time) {
      ++trace_.left_out;
    } else if (step_ && !step_->has_calls && trace_.calls.size() < kMaxCalls) {
      text_ = "kernel," + step_->layers;
      std::optional<std::uint32_t> description = descriptions_.find(text_);
      if (!description) {
        results::ExecutedTrace::Description kernel;
        kernel.operation = "kernel";
        kernel.implementation = "plumb";
        kernel.layers = layers_of_step();
        description = descriptions_.add(text_, std::move(kernel));
      }
      add({{step_->start, Seconds(*time), 0, std::nullopt}, *description});
      trace_.timed = true;
    }
    step_.reset();
  }

  void take_threads(const Fields& fields) {
    const auto number = [&](std::size_t index) {
      return index < fields.size() ? parse_number<std::size_t>(fields[index]).value_or(0) : 0;
    };
    trace_.threads = number(1);
    trace_.processors = number(2);
  }

  void take_execution(const Fields& fields) {
    step_.reset();
    executing_ = false;
    const std::optional<double> at = fields.size() == 3 ? parsed_time(fields[2]) : std::nullopt;
    if (!at) {
      ++trace_.left_out;
    } else if (fields[1] == "begin" && trace_.executions.size() < kMaxCalls) {
      trace_.executions.push_back({Seconds(*at), {}});
      executing_ = true;
    } else if (fields[1] == "end" && !trace_.executions.empty()) {
      results::ExecutedTrace::Execution& last = trace_.executions.back();
      last.duration = std::max(Seconds(*at) - last.start, Seconds(0.0));
    }
  }

  results::ExecutedTrace trace_;
  DescriptionTable descriptions_;
  std::string text_;           // of the description looked for
  std::size_t templates_ = 0;  // read so far
  std::vector<std::string> columns_{"operation",
                                    "engine",
                                    "primitive",
                                    "implementation",
                                    "prop_kind",
                                    "memory_descriptors",
                                    "attributes",
                                    "auxiliary",
                                    "problem_desc",
                                    "exec_time"};
  std::optional<Step> step_;  // that the worker named last
  bool executing_ = false;
};

}  // namespace

results::ExecutedTrace read_onednn_log(std::istream& in) {
  return LogReader().read(in);
}

}  // namespace plumb::importers
