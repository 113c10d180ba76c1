// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/nested_calls.hpp"

#include <algorithm>
#include <array>
#include <optional>
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
  std::size_t index;  // of its call
  Seconds end;
  std::optional<std::size_t> kept;  // index of the kept call whose time this is part of
};

}  // namespace

results::ExecutedCall::Kind kind_of_operator(std::string_view operation) {
  const auto* const row = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.first == operation; });
  return row == kKinds.end() ? Kind::kCompute : row->second;
}

std::vector<results::ExecutedCall> outermost_calls(std::vector<results::ExecutedCall> calls) {
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    if (a.thread != b.thread) {
      return a.thread < b.thread;
    }
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  std::vector<results::ExecutedCall> kept;
  std::vector<Open> open;
  std::optional<std::uint64_t> thread;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results::ExecutedCall& call = calls[i];
    if (thread != call.thread) {
      open.clear();
      thread = call.thread;
    }
    while (!open.empty() && call.start >= open.back().end) {
      open.pop_back();
    }
    const Seconds end = call.start + call.duration;
    if (open.empty()) {
      open.push_back({i, end, kept.size()});
      kept.push_back(std::move(call));
      continue;
    }
    // A pad inside a convolution is told apart; a copy inside a copy is the same work.
    const std::optional<std::size_t> around = open.back().kept;
    const bool apart =
        call.kind != Kind::kCompute && around && kept[*around].kind == Kind::kCompute;
    if (!apart) {
      open.push_back({i, end, around});
      continue;
    }
    call.duration = std::min(call.duration, kept[*around].duration);
    kept[*around].duration -= call.duration;
    call.name = kept[*around].operation;
    open.push_back({i, end, kept.size()});
    kept.push_back(std::move(call));
  }
  return kept;
}

}  // namespace plumb::importers
