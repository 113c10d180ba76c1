// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/call_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedCall::Kind;
using Kind = TraceFinding::Kind;

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
bool is_of_weights(const results::ExecutedCall& call) {
  const std::size_t destination = call.layouts.find("dst:");
  return call.operation == "reorder" && destination != std::string::npos &&
         destination + 4 < call.layouts.size() &&
         std::isupper(static_cast<unsigned char>(call.layouts[destination + 4])) != 0;
}

/// Collector of findings that stand for several calls of one kind.
class CallGroup {
 public:
  void add(const MatchedCall& call) {
    time_ += call.call.duration;
    layers_.insert(call.layers.begin(), call.layers.end());
    ++count_;
    if (count_ <= kNamed) {
      names_ += fmt::format("{}{}", names_.empty() ? "" : ", ", call_text(call.call));
    }
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] TraceFinding finding(Kind kind) const {
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

std::optional<Kind> kind_of_call(const MatchedCall& call) {
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
      return Kind::kCreation;
    case CallKind::kCompute:
      break;
  }
  return call.layers.empty() ? std::optional(Kind::kNotMatched) : std::nullopt;
}

}  // namespace

std::string call_text(const results::ExecutedCall& call) {
  std::string text = call.operation;
  if (!call.name.empty()) {
    text += " " + call.name;
  }
  if (!call.layouts.empty() && call.kind == CallKind::kReorder) {
    text += fmt::format(" ({} {})", call.problem, call.layouts);
  }
  return text;
}

void find_movements(const MatchedTrace& matched, std::vector<TraceFinding>& findings) {
  std::map<std::pair<Kind, bool>, CallGroup> groups;
  const auto computes = [](const MatchedCall& call) {
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
    TraceFinding finding = calls.finding(group.first);
    const bool moves = group.first == Kind::kReorder || group.first == Kind::kCopy;
    finding.minor = group.second || (moves && finding.time < matched.span() * kMinorShare);
    if (group.second) {
      finding.evidence = "of inputs and outputs: " + finding.evidence;
    }
    findings.push_back(std::move(finding));
  }
}

void find_precisions(const model::Graph& graph,
                     const MatchedTrace& matched,
                     std::vector<TraceFinding>& findings) {
  std::map<std::pair<Kind, std::string>, CallGroup> groups;
  for (const MatchedCall& call : matched.calls) {
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
    TraceFinding finding = group.finding(name.first);
    finding.evidence = name.second + ": " + finding.evidence;
    findings.push_back(std::move(finding));
  }
}

}  // namespace plumb::analysis
