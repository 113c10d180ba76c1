// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/timing_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/analysis/trace/call_findings.hpp"

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedCall::Kind;
using Kind = TraceFinding::Kind;

constexpr double kSlowerBy = 1.1;
constexpr double kShareOfGap = 0.005;  // of the execution: a shorter gap is the cost of a call

/// Returns the time that an execution of the call takes: that which was measured of its
/// implementation, since the trace and the measurement are of different moments.
Seconds time_of_implementation(const MatchedCall& call, const MeasuredVariants& measured) {
  for (const MeasuredVariants::Variant& variant : measured.variants) {
    if (variant.text.find(call.call.implementation) != std::string::npos) {
      return variant.time;
    }
  }
  return call.typical;
}

}  // namespace

void find_slower_variants(const MatchedTrace& matched,
                          std::span<const MeasuredVariants> measured,
                          std::vector<TraceFinding>& findings) {
  for (const MeasuredVariants& each : measured) {
    const MeasuredVariants::Variant& best = each.variants.front();
    for (const MatchedCall& call : matched.calls) {
      if (call.call.kind != CallKind::kCompute || call.layers != each.layers ||
          call.call.implementation.empty()) {
        continue;
      }
      const Seconds time = time_of_implementation(call, each);
      if (time <= best.time * kSlowerBy) {
        continue;
      }
      findings.push_back({Kind::kSlowerVariant,
                          time - best.time,
                          each.layers,
                          fmt::format("{} takes {:.1f} µs; measured by itself, {} takes {:.1f} µs",
                                      call.call.implementation,
                                      time.count() * 1e6,
                                      best.text,
                                      best.time.count() * 1e6)});
    }
  }
}

void find_gaps(const MatchedTrace& matched,
               std::optional<Seconds> untraced,
               std::vector<TraceFinding>& findings) {
  if (matched.execution.duration <= Seconds(0.0)) {
    return;
  }
  std::vector<const MatchedCall*> calls;
  for (const MatchedCall& call : matched.calls) {
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
  for (const MatchedCall* call : calls) {
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

void find_oversubscription(const MatchedTrace& matched, std::vector<TraceFinding>& findings) {
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

}  // namespace plumb::analysis
