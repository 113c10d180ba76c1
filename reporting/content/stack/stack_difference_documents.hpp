// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/library/stack_difference.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb stacks diff`. The text shows the first symbols and layers, JSON all.
void write_stack_difference(const analysis::StackDifference& difference,
                            OutputMode style,
                            std::ostream& out);

}  // namespace plumb::reporting
