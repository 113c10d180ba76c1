// SPDX-License-Identifier: Apache-2.0
// Private to reporting: what functions explain of changes, for every format.
#pragma once

#include <span>
#include <string>

#include "harness/analysis/explain/function_finding.hpp"
#include "reporting/content/comparison/attribution_rows.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Returns what functions explain of a change, in one sentence without its full stop: "conv1 of
/// lenet regressed by 12 % (9 to 15 %); +11.8 % (+11.0 % to +12.6 %) inside the model: +11.0 % in
/// 'jit:reorder', which the baseline did not execute; +0.8 % unexplained".
[[nodiscard]] std::string function_text(const analysis::FunctionFinding& finding,
                                        const PlaceTexts& places);

/// Adds for each finding its sentence, and on a page a table of its functions.
void add_functions(std::span<const analysis::FunctionFinding> findings,
                   const PlaceTexts& places,
                   Page& page);

}  // namespace plumb::reporting
