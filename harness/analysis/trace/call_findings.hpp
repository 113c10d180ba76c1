// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/trace/trace_finding.hpp"

namespace plumb::analysis {

/// Returns the operation of a call and its name, and the layouts that a reorder changes.
[[nodiscard]] std::string call_text(const results::ExecutedCall& call);

/// Finds calls that do not compute, and those that belong to no layer.
///
/// Reorders and copies before the first call that computes, and behind the last one, are minor: a
/// runtime with layouts of its own cannot do without.
void find_movements(const MatchedTrace& matched, std::vector<TraceFinding>& findings);

/// Finds calls whose first operand has another floating type than that of their layer.
void find_precisions(const model::Graph& graph,
                     const MatchedTrace& matched,
                     std::vector<TraceFinding>& findings);

}  // namespace plumb::analysis
