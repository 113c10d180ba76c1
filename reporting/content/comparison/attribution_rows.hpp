// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "harness/analysis/explain/function_finding.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Places of layer keys: "conv1 of lenet, and 2 more".
using PlaceTexts = std::map<std::string, std::string>;

/// Adds how a model's change splits over its layers: a sentence and a table.
void add_attribution(const analysis::ModelAttribution& split, const PlaceTexts& places, Page& page);
/// Returns what a finding explains: "4 layers of 1 model, +43.03 µs".
[[nodiscard]] std::string extent_text(const analysis::QualificationFinding& finding);
/// Adds one paragraph for each finding, with its evidence and the names of its first layers. In a
/// comment it is one line.
void add_findings(std::span<const analysis::QualificationFinding> findings,
                  const PlaceTexts& places,
                  Page& page);

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
