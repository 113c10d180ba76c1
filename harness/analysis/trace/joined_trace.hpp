// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Adds what a library's log knows to a runtime's trace of the same execution.
///
/// The library's calls are taken in order, each for the next call of the runtime that may be it by
/// operation and shapes. That call gets the implementation and the layouts. Reorders before it
/// become calls of their own, and their time is taken from the runtime's call.
[[nodiscard]] results::ExecutedTrace join_traces(results::ExecutedTrace runtime,
                                                 const results::ExecutedTrace& library);

}  // namespace plumb::analysis
