// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/onednn_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr std::size_t kMaxFields = 64;
constexpr std::size_t kMaxLayers = 1000;

using Fields = std::vector<std::string_view>;
using Kind = results::ExecutedCall::Kind;

Fields split(std::string_view text, char separator) {
  Fields fields;
  while (fields.size() + 1 < kMaxFields) {
    const std::size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return fields;
    }
    text.remove_prefix(end + 1);
  }
  fields.push_back(text);
  return fields;
}

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

/// Returns a time of 0 to 10^12 units; nothing for what is none.
std::optional<double> parsed_time(std::string_view text) {
  const std::optional<double> value = parsed<double>(text);
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
  Seconds start{};
  std::vector<std::size_t> layers;
  bool has_calls = false;
};

/// Reader of one log, line by line.
class LogReader {
 public:
  results::ExecutedTrace read(std::istream& in) {
    trace_.format = "onednn";
    std::string line;
    char byte = 0;
    std::streambuf& buffer = *in.rdbuf();
    for (int next = buffer.sbumpc(); next != std::char_traits<char>::eof();
         next = buffer.sbumpc()) {
      byte = static_cast<char>(next);
      if (byte == '\n') {
        take(line);
        line.clear();
      } else if (line.size() < kLongestLine) {
        line += byte;
      }
    }
    take(line);
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
      take_template({fields.begin() + static_cast<std::ptrdiff_t>(at) + 1, fields.end()});
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
  }

  [[nodiscard]] std::string_view field(const Fields& fields, std::string_view column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column);
    const auto index = static_cast<std::size_t>(at - columns_.begin());
    return at == columns_.end() || index >= fields.size() ? std::string_view() : fields[index];
  }

  void add_call(const Fields& fields, std::optional<double> stamp, bool creates) {
    const std::optional<double> time = parsed_time(field(fields, "exec_time"));
    const std::string_view operation = field(fields, "primitive");
    if (!time || operation.empty()) {
      ++trace_.left_out;
      return;
    }
    if (trace_.calls.size() >= kMaxCalls) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the log has more than {} calls: trace fewer executions", kMaxCalls));
    }
    results::ExecutedCall call;
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
    call.duration = Seconds(*time * 1e-3);
    if (stamp) {
      call.start = Seconds(*stamp * 1e-3);
      trace_.timed = true;
    } else if (step_) {
      call.start = step_->start;
      trace_.timed = true;
    }
    add(std::move(call));
  }

  void add(results::ExecutedCall call) {
    if (step_) {
      call.layers = step_->layers;
      step_->has_calls = true;
    }
    if (executing_) {
      call.execution = trace_.executions.size() - 1;
    }
    trace_.calls.push_back(std::move(call));
  }

  void take_step(const Fields& fields) {
    const std::optional<double> at = fields.size() == 4 ? parsed_time(fields[2]) : std::nullopt;
    if (!at) {
      ++trace_.left_out;
      return;
    }
    std::vector<std::size_t> layers;
    for (const std::string_view text : split(fields[3], '+')) {
      const std::optional<std::size_t> layer = parsed<std::size_t>(text);
      if (layer && layers.size() < kMaxLayers) {
        layers.push_back(*layer);
      }
    }
    step_ = Step{Seconds(*at), std::move(layers)};
  }

  /// Ends a step. One that called nothing of the library was a kernel of the worker's own.
  void end_step(const Fields& fields) {
    const std::optional<double> time = fields.size() == 2 ? parsed_time(fields[1]) : std::nullopt;
    if (!time) {
      ++trace_.left_out;
    } else if (step_ && !step_->has_calls && trace_.calls.size() < kMaxCalls) {
      results::ExecutedCall call;
      call.operation = "kernel";
      call.implementation = "plumb";
      call.start = step_->start;
      call.duration = Seconds(*time);
      add(std::move(call));
    }
    step_.reset();
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
      results::TracedExecution& last = trace_.executions.back();
      last.duration = std::max(Seconds(*at) - last.start, Seconds(0.0));
    }
  }

  results::ExecutedTrace trace_;
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
