// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/trace/matched_call.hpp"

namespace plumb::analysis {

/// Matches the calls of one execution to the layers of a model, and adds up the time that is
/// matched. See match_trace() for the rules.
void match_calls(const model::Graph& graph, MatchedTrace& matched);

}  // namespace plumb::analysis
