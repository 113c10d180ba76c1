// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/work/model_source.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Returns what both sides measure: the suite's layers, each once, and its models plain and fused.
/// Without `end_to_end` there are no models.
[[nodiscard]] PairedWork collect_work(const ModelSource& source,
                                      const suite::ResolvedSuite& suite,
                                      std::span<const PlannedModel> models,
                                      bool end_to_end);

}  // namespace plumb::session
