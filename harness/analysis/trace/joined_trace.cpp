// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/joined_trace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/trace/call_shape.hpp"

namespace plumb::analysis {
namespace {

using results::TracedCall;

// A call of the library that none of so many next calls of the runtime may be is left out.
constexpr std::size_t kFarthest = 4096;

constexpr std::array<std::string_view, 4> kProducts{"Conv", "ConvTranspose", "Gemm", "MatMul"};

/// Joiner of two traces, whose descriptions it keeps in the runtime's.
class Joiner {
 public:
  Joiner(results::ExecutedTrace runtime, const results::ExecutedTrace& library)
      : runtime_(std::move(runtime)),
        library_(library),
        first_of_library_(static_cast<std::uint32_t>(runtime_.descriptions.size())) {
    runtime_.descriptions.insert(
        runtime_.descriptions.end(), library.descriptions.begin(), library.descriptions.end());
  }

  results::ExecutedTrace join() && {
    for (const TracedCall& call : library_.calls) {
      const results::CallDescription::Kind kind = library_.description_of(call).kind;
      if (kind == results::CallDescription::Kind::kReorder) {
        movements_.push_back(call);
      } else if (kind == results::CallDescription::Kind::kCompute) {
        take(call);
        movements_.clear();
      }
    }
    keep_until(runtime_.calls.size());
    runtime_.calls = std::move(joined_);
    runtime_.threads = std::max(runtime_.threads, library_.threads);
    runtime_.processors = std::max(runtime_.processors, library_.processors);
    return std::move(runtime_);
  }

 private:
  void take(const TracedCall& call) {
    const std::size_t end = std::min(runtime_.calls.size(), next_ + kFarthest);
    std::size_t at = next_;
    while (at < end && !fits(call, runtime_.calls[at])) {
      ++at;
    }
    if (at == end) {
      return;
    }
    keep_until(at);
    TracedCall executed = runtime_.calls[at];
    for (TracedCall movement : movements_) {
      movement.description += first_of_library_;
      movement.start = executed.start;
      movement.duration = std::min(movement.duration, executed.duration);
      movement.thread = executed.thread;
      movement.execution = executed.execution;
      executed.start += movement.duration;
      executed.duration -= movement.duration;
      joined_.push_back(movement);
    }
    executed.description = describe(executed.description, call.description);
    joined_.push_back(executed);
    next_ = at + 1;
  }

  void keep_until(std::size_t end) {
    std::copy(runtime_.calls.begin() + static_cast<std::ptrdiff_t>(next_),
              runtime_.calls.begin() + static_cast<std::ptrdiff_t>(end),
              std::back_inserter(joined_));
    next_ = end;
  }

  [[nodiscard]] bool fits(const TracedCall& call, const TracedCall& of_runtime) {
    const auto [row, first] = fits_.try_emplace({call.description, of_runtime.description}, false);
    if (first) {
      const results::CallDescription& inner = library_.description_of(call);
      const results::CallDescription& outer = runtime_.description_of(of_runtime);
      row->second =
          outer.kind == results::CallDescription::Kind::kCompute && !outer.inputs.empty() &&
          std::any_of(kProducts.begin(),
                      kProducts.end(),
                      [&](std::string_view op) {
                        return may_execute(inner.operation, op) && may_execute(outer.operation, op);
                      }) &&
          fits_operands(inner, outer);
    }
    return row->second;
  }

  /// Returns the description of a runtime's call with what the library says of it.
  std::uint32_t describe(std::uint32_t of_runtime, std::uint32_t of_library) {
    const auto [row, first] = descriptions_.try_emplace(
        {of_runtime, of_library}, static_cast<std::uint32_t>(runtime_.descriptions.size()));
    if (first) {
      results::CallDescription joined = runtime_.descriptions[of_runtime];
      joined.implementation = library_.descriptions[of_library].implementation;
      joined.layouts = library_.descriptions[of_library].layouts;
      runtime_.descriptions.push_back(std::move(joined));
    }
    return row->second;
  }

  results::ExecutedTrace runtime_;
  const results::ExecutedTrace& library_;
  std::uint32_t first_of_library_;
  std::size_t next_ = 0;               // call of the runtime
  std::vector<TracedCall> movements_;  // of the library, before its next call
  std::vector<TracedCall> joined_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> fits_;  // by both descriptions
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> descriptions_;
};

}  // namespace

results::ExecutedTrace join_traces(results::ExecutedTrace runtime,
                                   const results::ExecutedTrace& library) {
  return Joiner(std::move(runtime), library).join();
}

}  // namespace plumb::analysis
