// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/baseline_entry.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb baseline list`.
void write_baselines(std::span<const analysis::BaselineEntry> entries,
                     OutputMode style,
                     std::ostream& out);

}  // namespace plumb::reporting
