// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analysis/trace/trace_finding.hpp"

namespace plumb::analysis {

/// Finds calls of implementations that were measured to be slower than another.
void find_slower_variants(const MatchedTrace& matched,
                          std::span<const MeasuredVariants> measured,
                          std::vector<TraceFinding>& findings);

/// Finds time of the execution in which no call ran, at most what `untraced` leaves beside them.
void find_gaps(const MatchedTrace& matched,
               std::optional<Seconds> untraced,
               std::vector<TraceFinding>& findings);

/// Finds more threads than processors.
void find_oversubscription(const MatchedTrace& matched, std::vector<TraceFinding>& findings);

}  // namespace plumb::analysis
