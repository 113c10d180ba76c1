// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analysis/trace/matched_trace.hpp"
#include "harness/analysis/trace/trace_finding.hpp"

namespace plumb::analysis {

/// Finds what a trace's execution did otherwise than the model needs, the longest first.
///
/// A fusion is missed where a rule of harness/rewrite applies and its layers were executed by more
/// than one call. Its time is that of all these calls but the longest, so at most so much is lost.
/// A variant is slower if it takes a tenth more than the first of `measured`, by their intervals:
/// its lower end is compared with the upper end of the first. Its time is the measured one of its
/// implementation, else the median of the call in all executions.
/// A gap is time of the execution in which no call ran. Where the time without the profiler is
/// known, gaps are at most what it leaves beside the calls, since writing the trace takes time too.
/// The time of a recompilation is that of the mean execution. Reorders and copies of the inputs and
/// outputs are minor, and so are those below 0.5 % of the execution.
[[nodiscard]] std::vector<TraceFinding> find_trace_findings(
    const model::Graph& graph,
    const MatchedTrace& matched,
    std::span<const MeasuredVariants> measured = {},
    std::optional<Seconds> untraced = std::nullopt);

}  // namespace plumb::analysis
