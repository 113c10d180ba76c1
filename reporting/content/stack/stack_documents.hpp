// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/stack_report.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb stacks list` and `plumb stacks probe`.
void write_stacks(std::span<const analysis::StackReport> stacks,
                  OutputMode style,
                  std::ostream& out);

}  // namespace plumb::reporting
