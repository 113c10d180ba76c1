// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "reporting/comparison_report.hpp"

namespace plumb {

/// Says where a page will lie: pages of a server link to each other, a file to nothing.
enum class PagePlace { kFile, kServer };

/// Writes a page of what changed between two runs. It needs no script and prints well.
void write_comparison_page(const RunComparisonReport& report, PagePlace place, std::ostream& out);

}  // namespace plumb
