// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/trace_findings.hpp"

#include <algorithm>

#include "harness/analysis/trace/call_findings.hpp"
#include "harness/analysis/trace/fusion_findings.hpp"
#include "harness/analysis/trace/timing_findings.hpp"

namespace plumb::analysis {

std::vector<TraceFinding> find_trace_findings(const model::Graph& graph,
                                              const MatchedTrace& matched,
                                              std::span<const MeasuredVariants> measured,
                                              std::optional<Seconds> untraced) {
  std::vector<TraceFinding> findings;
  find_movements(matched, findings);
  find_fusions(graph, matched, findings);
  find_precisions(graph, matched, findings);
  find_slower_variants(matched, measured, findings);
  find_gaps(matched, untraced, findings);
  find_oversubscription(matched, findings);
  const auto is_fault = [](const TraceFinding& finding) {
    return is_loss(finding.kind) && !finding.minor;
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const auto& a, const auto& b) {
    return is_fault(a) != is_fault(b) ? is_fault(a) : a.time > b.time;
  });
  return findings;
}

}  // namespace plumb::analysis
