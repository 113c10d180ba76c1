// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb {

/// Change points that one annotator marked, or a detector found: first points of new levels.
using MarkedChanges = std::vector<std::size_t>;

/// Agreement of found change points with annotations, from 0 to 1.
struct SegmentationScore {
  double f1 = 0.0;
  double cover = 0.0;
};

/// Scores found change points as van den Burg and Williams do (arXiv 2003.06222, §4).
///
/// F1: a found change is right if an annotated one lies within `margin` points, each one used once;
/// precision against all annotators together, recall as the mean over them; the first point counts
/// as a change that everybody marks. Cover: Jaccard index of each annotated segment with the found
/// segment that fits it best, weighted by length, the mean over annotators. Needs an annotator and
/// a point.
[[nodiscard]] SegmentationScore score_segmentation(std::span<const MarkedChanges> annotators,
                                                   const MarkedChanges& found,
                                                   std::size_t length,
                                                   std::size_t margin = 5);

}  // namespace plumb
