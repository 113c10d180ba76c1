// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/run_series.hpp"
#include "harness/analyze/series_history.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// Report of `plumb detect` on the stored history of a suite.
struct HistoryReport {
  RunSeries name;
  std::vector<RunRecord> runs;  ///< oldest first
  std::vector<SeriesFinding> findings;
  std::string measure_again;  ///< a command for a shell
};

/// `plumb detect`: changes by the run where they began, with what changed in the environment there;
/// then suspicions and creep.
void write_history(const HistoryReport& report, Style style, std::ostream& out);

}  // namespace plumb
