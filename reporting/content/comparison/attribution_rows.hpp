// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/qualify/qualification.hpp"
#include "reporting/document/page.hpp"

namespace plumb {

/// Adds how a model's change splits over its layers: a sentence and a table.
void add_attribution(const ModelAttribution& split, Page& page);
/// Adds one paragraph for each finding.
void add_findings(std::span<const QualificationFinding> findings, Page& page);

/// Writes findings for a terminal.
void write_findings(std::span<const QualificationFinding> findings, std::ostream& out);

}  // namespace plumb
