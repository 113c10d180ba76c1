// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/analysis/history/series_history.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stats/segmentation.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Report of `plumb detect` on the stored history of a suite.
struct HistoryReport {
  analysis::SuiteHistory history;
  std::vector<analysis::SeriesFinding> findings;
  std::string measure_again;         ///< a command for a shell
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Writes the output of `plumb detect`: changes by the run where they began, then suspicions and
/// creep. Each such run has what changed in the environment there.
void write_history(const HistoryReport& report, OutputMode style, std::ostream& out);

/// Scores over a set of annotated histories.
struct Evaluation {
  /// One annotated history, with the agreement of the detector with its annotators.
  struct Series {
    std::string id;
    std::size_t annotators = 0;
    stats::MarkedChanges found;
    stats::SegmentationScore score;
    stats::SegmentationScore nothing;  ///< of finding no change at all
  };

  std::vector<Series> series;
  std::vector<std::string> skipped;
};

/// Writes the output of `plumb detect --evaluate`: each series with its part, and means. A hash of
/// the id puts a series into the part "tuning" or "checking". So whoever changes the detector can
/// look at one half and check with the other.
void write_evaluation(const Evaluation& evaluation, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
