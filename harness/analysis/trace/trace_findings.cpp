// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/trace/trace_report.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
namespace {

using Kind = TraceReport::Finding::Kind;

constexpr std::array kTexts{std::pair{Kind::kMissedFusion, "missed fusion"},
                            std::pair{Kind::kReorder, "reorder"},
                            std::pair{Kind::kWeightReorder, "weights reordered"},
                            std::pair{Kind::kPad, "pad"},
                            std::pair{Kind::kCopy, "copy"},
                            std::pair{Kind::kWait, "wait"},
                            std::pair{Kind::kCreation, "kernel made"},
                            std::pair{Kind::kRecompilation, "recompilation"},
                            std::pair{Kind::kSlowerVariant, "slower variant"},
                            std::pair{Kind::kLowerPrecision, "lower precision"},
                            std::pair{Kind::kHigherPrecision, "higher precision"},
                            std::pair{Kind::kGap, "gap"},
                            std::pair{Kind::kOversubscribed, "threads oversubscribed"},
                            std::pair{Kind::kNotMatched, "not matched"},
                            std::pair{Kind::kFusion, "fusion"}};

}  // namespace

std::string_view to_text(TraceReport::Finding::Kind kind) {
  const auto* const row = std::find_if(
      kTexts.begin(), kTexts.end(), [&](const auto& each) { return each.first == kind; });
  PLUMB_CHECK(row != kTexts.end());
  return row->second;
}

bool is_loss(TraceReport::Finding::Kind kind) {
  return kind != Kind::kFusion && kind != Kind::kNotMatched && kind != Kind::kLowerPrecision;
}

Seconds compute_gain(const TraceReport::Finding& finding) {
  switch (finding.kind) {
    case Kind::kMissedFusion:
    case Kind::kReorder:
    case Kind::kWeightReorder:
    case Kind::kPad:
    case Kind::kCopy:
    case Kind::kWait:
    case Kind::kCreation:
    case Kind::kSlowerVariant:
    case Kind::kGap:
      return finding.minor ? Seconds(0.0) : finding.time;
    case Kind::kLowerPrecision:
    case Kind::kHigherPrecision:  // some of its time, but nobody measured how much
    case Kind::kOversubscribed:
    case Kind::kRecompilation:  // of the mean execution, and gains are of the median one
    case Kind::kNotMatched:
    case Kind::kFusion:
      break;
  }
  return Seconds(0.0);
}

namespace {

using CallKind = results::ExecutedTrace::Call::Kind;

/// Returns the operation of a call and its name, and the layouts that a reorder changes.
std::string call_text(const results::ExecutedTrace::Call& call) {
  std::string text = call.operation;
  if (!call.name.empty()) {
    text += " " + call.name;
  }
  if (!call.layouts.empty() && call.kind == CallKind::kReorder) {
    text += fmt::format(" ({} {})", call.problem, call.layouts);
  }
  return text;
}

constexpr double kMinorShare = 0.005;  // of the execution: movements that hardly count
constexpr std::size_t kNamed = 3;      // calls in an evidence

/// Element types by the names of runtimes and libraries.
constexpr std::array kTypes = std::to_array<std::pair<std::string_view, model::DataType>>({
    {"f32", model::DataType::kF32},
    {"float", model::DataType::kF32},
    {"f16", model::DataType::kF16},
    {"float16", model::DataType::kF16},
    {"c10::Half", model::DataType::kF16},
    {"bf16", model::DataType::kBf16},
    {"bfloat16", model::DataType::kBf16},
    {"c10::BFloat16", model::DataType::kBf16},
    {"s8", model::DataType::kS8},
    {"int8", model::DataType::kS8},
    {"u8", model::DataType::kU8},
    {"uint8", model::DataType::kU8},
    {"double", model::DataType::kF64},
});

std::optional<model::DataType> type_of(std::string_view name) {
  const auto* const row = std::find_if(
      kTypes.begin(), kTypes.end(), [&](const auto& each) { return each.first == name; });
  return row == kTypes.end() ? std::nullopt : std::optional(row->second);
}

/// Returns whether a reorder is of weights: from plain to blocked by output channels.
bool is_of_weights(const results::ExecutedTrace::Call& call) {
  const std::size_t destination = call.layouts.find("dst:");
  return call.operation == "reorder" && destination != std::string::npos &&
         destination + 4 < call.layouts.size() &&
         std::isupper(static_cast<unsigned char>(call.layouts[destination + 4])) != 0;
}

/// Collector of findings that stand for several calls of one kind.
class CallGroup {
 public:
  void add(const TraceReport::Matched::Call& call) {
    time_ += call.call.duration;
    layers_.insert(call.layers.begin(), call.layers.end());
    ++count_;
    if (count_ <= kNamed) {
      names_ += fmt::format("{}{}", names_.empty() ? "" : ", ", call_text(call.call));
    }
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] TraceReport::Finding finding(Kind kind) const {
    return {kind,
            time_,
            {layers_.begin(), layers_.end()},
            fmt::format("{} call{}: {}{}",
                        count_,
                        count_ == 1 ? "" : "s",
                        names_,
                        count_ > kNamed ? ", …" : "")};
  }

 private:
  Seconds time_{};
  std::set<model::LayerId> layers_;
  std::size_t count_ = 0;
  std::string names_;
};

std::optional<Kind> kind_of_call(const TraceReport::Matched::Call& call) {
  switch (call.call.kind) {
    case CallKind::kReorder:
      return is_of_weights(call.call) ? Kind::kWeightReorder : Kind::kReorder;
    case CallKind::kCopy:
      return Kind::kCopy;
    case CallKind::kPad:
      return Kind::kPad;
    case CallKind::kWait:
      return Kind::kWait;
    case CallKind::kCreation:
      return call.call.operation == results::kModelCompilation ? std::nullopt
                                                               : std::optional(Kind::kCreation);
    case CallKind::kCompute:
      break;
  }
  return call.layers.empty() ? std::optional(Kind::kNotMatched) : std::nullopt;
}

/// Finds calls that do not compute, and those that belong to no layer.
///
/// Reorders and copies before the first call that computes, and behind the last one, are minor: a
/// runtime with layouts of its own cannot do without.
void find_movements(const TraceReport::Matched& matched,
                    std::vector<TraceReport::Finding>& findings) {
  std::map<std::pair<Kind, bool>, CallGroup> groups;
  const auto computes = [](const TraceReport::Matched::Call& call) {
    return call.call.kind == CallKind::kCompute && !call.layers.empty();
  };
  const auto first = std::find_if(matched.calls.begin(), matched.calls.end(), computes);
  const auto last = std::find_if(matched.calls.rbegin(), matched.calls.rend(), computes).base();
  for (auto call = matched.calls.begin(); call != matched.calls.end(); ++call) {
    if (const std::optional<Kind> kind = kind_of_call(*call)) {
      const bool moves = *kind == Kind::kReorder || *kind == Kind::kCopy;
      groups[{*kind, moves && (call < first || call >= last)}].add(*call);
    }
  }
  for (const auto& [group, calls] : groups) {
    TraceReport::Finding finding = calls.finding(group.first);
    const bool moves = group.first == Kind::kReorder || group.first == Kind::kCopy;
    finding.minor = group.second || (moves && finding.time < matched.span() * kMinorShare);
    if (group.second) {
      finding.evidence = "of inputs and outputs: " + finding.evidence;
    }
    findings.push_back(std::move(finding));
  }
}

/// Finds calls whose first operand has another floating type than that of their layer.
void find_precisions(const model::Graph& graph,
                     const TraceReport::Matched& matched,
                     std::vector<TraceReport::Finding>& findings) {
  std::map<std::pair<Kind, std::string>, CallGroup> groups;
  for (const TraceReport::Matched::Call& call : matched.calls) {
    if (call.call.kind != CallKind::kCompute || call.layers.empty() || call.call.types.empty()) {
      continue;
    }
    const model::Layer& layer = graph.layers[call.layers.front()];
    const std::optional<model::DataType> executed = type_of(call.call.types.front());
    if (!executed || !layer.spec.has_input(0) || !model::is_floating(layer.spec.inputs[0]->dtype) ||
        *executed == layer.spec.inputs[0]->dtype) {
      continue;
    }
    const model::DataType wanted = layer.spec.inputs[0]->dtype;
    const auto width = [](model::DataType type) {
      return model::byte_size(model::TensorType{type, {1}, false, {}}).value;
    };
    const Kind kind =
        width(*executed) > width(wanted) ? Kind::kHigherPrecision : Kind::kLowerPrecision;
    groups[{kind,
            fmt::format("{} in place of {}", call.call.types.front(), model::to_text(wanted))}]
        .add(call);
  }
  for (const auto& [name, group] : groups) {
    TraceReport::Finding finding = group.finding(name.first);
    finding.evidence = name.second + ": " + finding.evidence;
    findings.push_back(std::move(finding));
  }
}

constexpr double kSlowerBy = 1.1;
constexpr double kShareOfGap = 0.005;  // of the execution: a shorter gap is the cost of a call

/// Returns the time that an execution of the call takes: that which was measured of its
/// implementation, since the trace and the measurement are of different moments.
measure::MeasuredTime time_of_implementation(
    const TraceReport::Matched::Call& call,
    const TraceReport::Finding::MeasuredVariants& measured) {
  for (const TraceReport::Finding::MeasuredVariants::Variant& variant : measured.variants) {
    if (variant.text.find(call.call.implementation) != std::string::npos) {
      return variant.time;
    }
  }
  return {call.typical, {call.typical, call.typical}};
}

/// Finds calls of implementations that were measured to be slower than another.
void find_slower_variants(const TraceReport::Matched& matched,
                          std::span<const TraceReport::Finding::MeasuredVariants> measured,
                          std::vector<TraceReport::Finding>& findings) {
  for (const TraceReport::Finding::MeasuredVariants& each : measured) {
    const TraceReport::Finding::MeasuredVariants::Variant& best = each.variants.front();
    for (const TraceReport::Matched::Call& call : matched.calls) {
      if (call.call.kind != CallKind::kCompute || call.layers != each.layers ||
          call.call.implementation.empty()) {
        continue;
      }
      const measure::MeasuredTime time = time_of_implementation(call, each);
      if (time.interval.low <= best.time.interval.high * kSlowerBy) {
        continue;
      }
      findings.push_back({Kind::kSlowerVariant,
                          time.median - best.time.median,
                          each.layers,
                          fmt::format("{} takes {:.1f} µs; measured by itself, {} takes {:.1f} µs",
                                      call.call.implementation,
                                      time.median.count() * 1e6,
                                      best.text,
                                      best.time.median.count() * 1e6)});
    }
  }
}

/// Finds time of the execution in which no call ran, at most what `untraced` leaves beside them.
void find_gaps(const TraceReport::Matched& matched,
               std::optional<Seconds> untraced,
               std::vector<TraceReport::Finding>& findings) {
  if (matched.execution.duration <= Seconds(0.0)) {
    return;
  }
  std::vector<const TraceReport::Matched::Call*> calls;
  for (const TraceReport::Matched::Call& call : matched.calls) {
    calls.push_back(&call);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto* a, const auto* b) {
    return a->call.start < b->call.start;
  });
  const Seconds end = matched.execution.start + matched.execution.duration;
  Seconds covered = matched.execution.start;
  Seconds total{};
  Seconds largest{};
  std::string where = "before the first call";
  std::string before = where;
  std::size_t number = 0;
  const auto add = [&](Seconds until) {
    const Seconds gap = std::min(until, end) - covered;
    if (gap > matched.execution.duration * kShareOfGap) {
      total += gap;
      ++number;
      if (gap > largest) {
        largest = gap;
        where = before;
      }
    }
  };
  for (const TraceReport::Matched::Call* call : calls) {
    add(call->call.start);
    covered = std::max(covered, call->call.start + call->call.duration);
    before = "after " + call_text(call->call);
  }
  add(end);
  if (untraced) {  // what is more than that is the profiler's own time
    total = std::min(total, std::max(*untraced - matched.traced, Seconds(0.0)));
  }
  if (total > matched.execution.duration * kShareOfGap) {
    findings.push_back({Kind::kGap,
                        total,
                        {},
                        fmt::format("{} gap{}; the longest takes {:.1f} µs, {}",
                                    number,
                                    number == 1 ? "" : "s",
                                    largest.count() * 1e6,
                                    where)});
  }
}

/// Finds more threads than processors.
void find_oversubscription(const TraceReport::Matched& matched,
                           std::vector<TraceReport::Finding>& findings) {
  if (matched.processors == 0 || matched.threads <= matched.processors) {
    return;
  }
  const double waiting =
      1.0 - static_cast<double>(matched.processors) / static_cast<double>(matched.threads);
  findings.push_back({Kind::kOversubscribed,
                      matched.traced * waiting,
                      {},
                      fmt::format("{} threads on {} processor{}",
                                  matched.threads,
                                  matched.processors,
                                  matched.processors == 1 ? "" : "s")});
}

/// Finds compilations of the model, in any execution of the trace.
void find_recompilation(const TraceReport::Matched& matched,
                        std::vector<TraceReport::Finding>& findings) {
  if (matched.compiled == 0) {
    return;
  }
  const Seconds each = matched.compilation / static_cast<double>(matched.compiled);
  findings.push_back({Kind::kRecompilation,
                      matched.compilation / static_cast<double>(matched.executions),
                      {},
                      fmt::format("the model was compiled in {} of {} execution{}, for {:.1f} ms "
                                  "each time",
                                  matched.compiled,
                                  matched.executions,
                                  matched.executions == 1 ? "" : "s",
                                  each.count() * 1e3)});
}

/// Finds the fusions of the rules of harness/rewrite that happened, and those that did not.
///
/// The layers of a fusion that happened have one call. Layers of which one has no call are left
/// out.
void find_fusions(const model::Graph& graph,
                  const TraceReport::Matched& matched,
                  std::vector<TraceReport::Finding>& findings) {
  std::vector<std::vector<std::size_t>> calls_of(graph.layers.size());
  for (std::size_t i = 0; i < matched.calls.size(); ++i) {
    if (matched.calls[i].call.kind == CallKind::kCompute) {
      for (const model::LayerId layer : matched.calls[i].layers) {
        calls_of[layer].push_back(i);
      }
    }
  }
  std::map<std::string, std::pair<TraceReport::Finding, std::size_t>> happened;
  std::map<std::string, TraceReport::Finding> missed;
  for (const rewrite::Match& match :
       rewrite::largest_matches(graph, [](const rewrite::Match&) { return true; })) {
    std::set<std::size_t> calls;
    bool complete = true;
    for (const model::LayerId layer : match.layers) {
      complete = complete && !calls_of[layer].empty();
      calls.insert(calls_of[layer].begin(), calls_of[layer].end());
    }
    if (!complete) {
      continue;
    }
    Seconds sum{};
    Seconds longest{};
    for (const std::size_t call : calls) {
      sum += matched.calls[call].call.duration;
      longest = std::max(longest, matched.calls[call].call.duration);
    }
    if (calls.size() > 1) {
      std::string names;
      for (const std::size_t call : calls) {
        names +=
            fmt::format("{}{}", names.empty() ? "" : ", ", call_text(matched.calls[call].call));
      }
      TraceReport::Finding& rule = missed[std::string(match.rewrite)];
      rule.kind = Kind::kMissedFusion;
      rule.time += sum - longest;
      rule.layers.insert(rule.layers.end(), match.layers.begin(), match.layers.end());
      rule.places.push_back({Kind::kMissedFusion,
                             sum - longest,
                             match.layers,
                             fmt::format("{} calls instead of one: {}", calls.size(), names)});
      continue;
    }
    auto& [finding, count] = happened[std::string(match.rewrite)];
    finding.kind = Kind::kFusion;
    finding.time += sum;
    finding.layers.insert(finding.layers.end(), match.layers.begin(), match.layers.end());
    ++count;
  }
  for (auto& [rule, finding] : missed) {
    std::sort(finding.layers.begin(), finding.layers.end());
    std::stable_sort(finding.places.begin(),
                     finding.places.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    const std::size_t count = finding.places.size();
    finding.evidence = fmt::format("{}: {} time{}, the longest with {}",
                                   rule,
                                   count,
                                   count == 1 ? "" : "s",
                                   finding.places.front().evidence);
    findings.push_back(std::move(finding));
  }
  for (auto& [rule, entry] : happened) {
    std::sort(entry.first.layers.begin(), entry.first.layers.end());
    entry.first.evidence = fmt::format("{}: {} times in one call", rule, entry.second);
    findings.push_back(std::move(entry.first));
  }
}

}  // namespace

std::vector<TraceReport::Finding> find_trace_findings(
    const model::Graph& graph,
    const TraceReport::Matched& matched,
    std::span<const TraceReport::Finding::MeasuredVariants> measured,
    std::optional<Seconds> untraced) {
  std::vector<TraceReport::Finding> findings;
  find_movements(matched, findings);
  find_fusions(graph, matched, findings);
  find_precisions(graph, matched, findings);
  find_slower_variants(matched, measured, findings);
  find_gaps(matched, untraced, findings);
  find_oversubscription(matched, findings);
  find_recompilation(matched, findings);
  const auto is_fault = [](const TraceReport::Finding& finding) {
    return is_loss(finding.kind) && !finding.minor;
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const auto& a, const auto& b) {
    return is_fault(a) != is_fault(b) ? is_fault(a) : a.time > b.time;
  });
  return findings;
}

}  // namespace plumb::analysis
