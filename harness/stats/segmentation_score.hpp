// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb::stats {

/// Change points that one annotator marked or a detector found. Each is the first point of a new
/// level.
using MarkedChanges = std::vector<std::size_t>;

/// Agreement of found change points with annotations, from 0 to 1 each.
struct SegmentationScore {
  double f1 = 0.0;
  double cover = 0.0;
};

/// Scores found change points as van den Burg and Williams do (arXiv 2003.06222, §4).
///
/// F1: a found change is right if an annotated one lies within `margin` points. Each annotated
/// change is used once. Precision is against all annotators together, and recall is the mean over
/// them. The first point counts as a change that every annotator marks.
///
/// Cover: the Jaccard index of each annotated segment with the found segment that fits it best,
/// weighted by length. The result is the mean over annotators. Needs an annotator and a point.
[[nodiscard]] SegmentationScore score_segmentation(std::span<const MarkedChanges> annotators,
                                                   const MarkedChanges& found,
                                                   std::size_t length,
                                                   std::size_t margin = 5);

}  // namespace plumb::stats
