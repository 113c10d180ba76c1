// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/analyze/segmentation_score.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// One annotated history, and how well the detector agrees with its annotators.
struct EvaluatedSeries {
  std::string id;
  std::size_t annotators = 0;
  MarkedChanges found;
  SegmentationScore score;
  SegmentationScore nothing;  ///< of finding no change at all
};

/// Scores over a set of annotated histories.
struct Evaluation {
  std::vector<EvaluatedSeries> series;
  std::vector<std::string> skipped;
};

/// `plumb detect --evaluate`: each series with its part, and means. A series is of the part
/// "tuning" or "checking" by a hash of its id, so that who changes the detector can look at one
/// half and check with the other.
void write_evaluation(const Evaluation& evaluation, Style style, std::ostream& out);

}  // namespace plumb
