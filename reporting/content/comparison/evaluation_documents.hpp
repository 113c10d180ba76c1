// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/stats/segmentation_score.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// One annotated history, with the agreement of the detector with its annotators.
struct EvaluatedSeries {
  std::string id;
  std::size_t annotators = 0;
  stats::MarkedChanges found;
  stats::SegmentationScore score;
  stats::SegmentationScore nothing;  ///< of finding no change at all
};

/// Scores over a set of annotated histories.
struct Evaluation {
  std::vector<EvaluatedSeries> series;
  std::vector<std::string> skipped;
};

/// Writes the output of `plumb detect --evaluate`: each series with its part, and means. A hash of
/// the id puts a series into the part "tuning" or "checking". So whoever changes the detector can
/// look at one half and check with the other.
void write_evaluation(const Evaluation& evaluation, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
