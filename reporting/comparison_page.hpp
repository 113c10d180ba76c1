// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "reporting/change_documents.hpp"

namespace plumb {

/// Writes a page of what changed between two runs.
void write_comparison_page(const RunComparisonReport& report, std::ostream& out);

}  // namespace plumb
