// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analyze/stack_difference.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// `plumb stacks diff`. The text shows the first symbols and layers; JSON has all.
void write_stack_difference(const StackDifference& difference, Style style, std::ostream& out);

}  // namespace plumb
