// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/nested_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace plumb::importers {
namespace {

using Kind = results::ExecutedCall::Kind;

constexpr std::array kKinds{std::pair{"ReorderInput", Kind::kReorder},
                            std::pair{"ReorderOutput", Kind::kReorder},
                            std::pair{"Transpose", Kind::kReorder},
                            std::pair{"aten::contiguous", Kind::kReorder},
                            std::pair{"aten::to_mkldnn", Kind::kReorder},
                            std::pair{"aten::to_dense", Kind::kReorder},
                            std::pair{"Memcpy", Kind::kCopy},
                            std::pair{"MemcpyFromHost", Kind::kCopy},
                            std::pair{"MemcpyToHost", Kind::kCopy},
                            std::pair{"Cast", Kind::kCopy},
                            std::pair{"Identity", Kind::kCopy},
                            std::pair{"aten::copy_", Kind::kCopy},
                            std::pair{"aten::clone", Kind::kCopy},
                            std::pair{"aten::_to_copy", Kind::kCopy},
                            std::pair{"aten::to", Kind::kCopy},
                            std::pair{"Pad", Kind::kPad},
                            std::pair{"aten::pad", Kind::kPad},
                            std::pair{"aten::constant_pad_nd", Kind::kPad},
                            std::pair{"aten::item", Kind::kWait},
                            std::pair{"aten::_local_scalar_dense", Kind::kWait}};

/// Call that is not over yet, while calls are walked in the order of their starts.
struct Open {
  Seconds end;
  std::size_t kept;  // index of the kept call whose time this is part of
};

/// Returns the description of a call within another.
std::uint32_t within(std::uint32_t call, std::uint32_t around, DescriptionTable& descriptions) {
  const std::string text = fmt::format("w{},{}", call, around);
  if (const std::optional<std::uint32_t> known = descriptions.find(text)) {
    return *known;
  }
  results::CallDescription description = descriptions.at(call);
  description.name = descriptions.at(around).operation;
  return descriptions.add(text, std::move(description));
}

/// Returns the description of a call that is of a range's layer.
std::uint32_t of_layer(std::uint32_t call, std::uint32_t range, DescriptionTable& descriptions) {
  const std::string text = fmt::format("l{},{}", call, range);
  if (const std::optional<std::uint32_t> known = descriptions.find(text)) {
    return *known;
  }
  results::CallDescription description = descriptions.at(call);
  description.output = descriptions.at(range).output;
  return descriptions.add(text, std::move(description));
}

/// Returns whether a call comes before another: by thread, then by start, the outer one first.
bool is_before(const results::TracedCall& a, const results::TracedCall& b) {
  if (a.thread != b.thread) {
    return a.thread < b.thread;
  }
  return a.start != b.start ? a.start < b.start : a.duration > b.duration;
}

}  // namespace

results::ExecutedCall::Kind kind_of_operator(std::string_view operation) {
  const auto* const row = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.first == operation; });
  return row == kKinds.end() ? Kind::kCompute : row->second;
}

std::vector<results::TracedCall> outermost_calls(std::vector<results::TracedCall> calls,
                                                 DescriptionTable& descriptions) {
  std::stable_sort(calls.begin(), calls.end(), is_before);
  const auto kind_of = [&](const results::TracedCall& call) {
    return descriptions.at(call.description).kind;
  };
  // Kept calls take the places of those before them: `calls` is read ahead of `kept`.
  std::size_t kept = 0;
  std::vector<Open> open;
  std::optional<std::uint64_t> thread;
  for (const results::TracedCall each : std::as_const(calls)) {
    results::TracedCall call = each;
    if (thread != call.thread) {
      open.clear();
      thread = call.thread;
    }
    while (!open.empty() && call.start >= open.back().end) {
      open.pop_back();
    }
    const Seconds end = call.start + call.duration;
    if (open.empty()) {
      open.push_back({end, kept});
      calls[kept++] = call;
      continue;
    }
    // A pad inside a convolution is told apart; a copy inside a copy is the same work.
    results::TracedCall& around = calls[open.back().kept];
    if (kind_of(call) == Kind::kCompute || kind_of(around) != Kind::kCompute) {
      open.push_back({end, open.back().kept});
      continue;
    }
    call.duration = std::min(call.duration, around.duration);
    around.duration -= call.duration;
    call.description = within(call.description, around.description, descriptions);
    open.push_back({end, kept});
    calls[kept++] = call;
  }
  calls.resize(kept);
  return calls;
}

void place_in_ranges(std::vector<results::TracedCall>& calls,
                     std::vector<results::TracedCall> ranges,
                     DescriptionTable& descriptions) {
  std::stable_sort(ranges.begin(), ranges.end(), is_before);
  auto next = ranges.cbegin();  // the first that may hold the call
  for (results::TracedCall& call : calls) {
    while (next != ranges.cend() &&
           (next->thread < call.thread ||
            (next->thread == call.thread && next->start + next->duration <= call.start))) {
      ++next;
    }
    if (next != ranges.cend() && next->thread == call.thread && next->start <= call.start) {
      call.description = of_layer(call.description, next->description, descriptions);
    }
  }
}

}  // namespace plumb::importers
