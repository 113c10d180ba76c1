// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/baseline_entry.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

/// Writes the output of `plumb baseline list`.
void write_baselines(std::span<const BaselineEntry> entries, OutputMode style, std::ostream& out);

}  // namespace plumb
