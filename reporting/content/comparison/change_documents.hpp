// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bisect/bisection.hpp"
#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/analysis/history/series_history.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stats/change_points.hpp"
#include "harness/stats/segmentation.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Returns a change by its point, as JSON.
[[nodiscard]] analysis::Json change_point_json(const stats::ChangePoint& change);

/// Writes the output of `plumb compare --samples`.
void write_comparisons(std::span<const analysis::PairedComparison> answers,
                       OutputMode style,
                       std::ostream& out);

/// Writes the output of `plumb bisect`.
void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out);

/// Writes the output of `plumb calibrate`.
void write_noise(const analysis::NoiseReport& report, OutputMode style, std::ostream& out);

/// Report of `plumb detect` on the stored history of a suite.
struct HistoryReport {
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

  /// Changes that were found in one history.
  struct Detected {
    std::string id;
    stats::Detection detection;
  };

  analysis::SuiteHistory history;
  std::vector<analysis::SeriesFinding> findings;
  std::string measure_again;         ///< a command for a shell
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Writes the output of `plumb detect` for histories from a file.
void write_detections(std::span<const HistoryReport::Detected> series,
                      OutputMode style,
                      std::ostream& out);

/// Writes the output of `plumb detect`: changes by the run where they began, then suspicions and
/// creep. Each such run has what changed in the environment there.
void write_history(const HistoryReport& report, OutputMode style, std::ostream& out);

/// Writes the output of `plumb detect --evaluate`: each series with its part, and means. A hash of
/// the id puts a series into the part "tuning" or "checking". So whoever changes the detector can
/// look at one half and check with the other.
void write_evaluation(const HistoryReport::Evaluation& evaluation,
                      OutputMode style,
                      std::ostream& out);

}  // namespace plumb::reporting
