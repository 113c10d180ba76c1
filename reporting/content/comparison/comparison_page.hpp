// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/report/comparison_report.hpp"

namespace plumb::reporting {

/// Places of a page. Pages of a server link to each other, and a file links to nothing.
enum class PagePlace { kFile, kServer };

/// Writes a page about what changed between two runs. It needs no script and prints well.
void write_comparison_page(const analysis::RunComparisonReport& report,
                           PagePlace place,
                           std::ostream& out);

}  // namespace plumb::reporting
