// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analysis/trace/trace_finding.hpp"

namespace plumb::analysis {

/// Finds the fusions of the rules of harness/rewrite that happened, and those that did not.
///
/// The layers of a fusion that happened have one call. Layers of which one has no call are left
/// out.
void find_fusions(const model::Graph& graph,
                  const MatchedTrace& matched,
                  std::vector<TraceFinding>& findings);

}  // namespace plumb::analysis
