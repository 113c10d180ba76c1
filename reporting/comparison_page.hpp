// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "reporting/comparison_report.hpp"

namespace plumb {

/// Places of a page. Pages of a server link to each other, a file links to nothing.
enum class PagePlace { kFile, kServer };

/// Writes a page of what changed between two runs. It needs no script and prints well.
void write_comparison_page(const RunComparisonReport& report, PagePlace place, std::ostream& out);

}  // namespace plumb
