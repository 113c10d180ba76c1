// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/history/series_history.hpp"
#include "harness/results/labels/commit_link.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Report of `plumb detect` on the stored history of a suite.
struct HistoryReport {
  analysis::RunSeries name;
  std::vector<results::RunRecord> runs;  ///< oldest first
  std::vector<analysis::SeriesFinding> findings;
  std::string measure_again;  ///< a command for a shell
  std::vector<analysis::ExcludedSeries> excluded = {};
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Writes the output of `plumb detect`: changes by the run where they began, then suspicions and
/// creep. Each such run has what changed in the environment there.
void write_history(const HistoryReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
