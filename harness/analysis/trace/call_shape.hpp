// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Returns whether what a call says of its operands' shapes fits a layer. A call that says nothing
/// fits every layer.
[[nodiscard]] bool fits_shapes(const results::CallDescription& call, const model::Layer& layer);

/// Returns whether a call of a library may be part of a runtime's call by the shapes of both. Says
/// so of calls whose shapes one of them does not tell.
[[nodiscard]] bool fits_operands(const results::CallDescription& library,
                                 const results::CallDescription& runtime);

}  // namespace plumb::analysis
