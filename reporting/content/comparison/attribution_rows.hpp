// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

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

}  // namespace plumb::reporting
