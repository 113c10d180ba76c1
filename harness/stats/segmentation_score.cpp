// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/segmentation_score.hpp"

#include <algorithm>
#include <set>

namespace plumb::stats {
namespace {

using Changes = std::set<std::size_t>;

Changes with_start(const MarkedChanges& marked) {
  Changes changes(marked.begin(), marked.end());
  changes.insert(0);
  return changes;
}

std::size_t distance(std::size_t one, std::size_t other) {
  return one < other ? other - one : one - other;
}

/// Counts the true changes with a found change within `margin`. Each found one is used once.
std::size_t count_found(const Changes& truth, Changes found, std::size_t margin) {
  std::size_t count = 0;
  for (const std::size_t change : truth) {
    const auto nearest =
        std::min_element(found.begin(), found.end(), [&](std::size_t one, std::size_t other) {
          return distance(one, change) < distance(other, change);
        });
    if (nearest != found.end() && distance(*nearest, change) <= margin) {
      ++count;
      found.erase(nearest);
    }
  }
  return count;
}

double compute_f1(std::span<const MarkedChanges> annotators,
                  const Changes& found,
                  std::size_t margin) {
  Changes all;
  double recall = 0.0;
  for (const MarkedChanges& annotator : annotators) {
    const Changes truth = with_start(annotator);
    all.insert(truth.begin(), truth.end());
    recall += static_cast<double>(count_found(truth, found, margin)) /
              static_cast<double>(truth.size()) / static_cast<double>(annotators.size());
  }
  const double precision =
      static_cast<double>(count_found(all, found, margin)) / static_cast<double>(found.size());
  return 2.0 * precision * recall / (precision + recall);
}

/// Returns the Jaccard index of two segments: the length of their intersection over that of their
/// union. Zero if they are disjoint.
double compute_jaccard(std::size_t begin,
                       std::size_t end,
                       std::size_t other,
                       std::size_t other_end) {
  const std::size_t first = std::max(begin, other);
  const std::size_t last = std::min(end, other_end);
  if (first >= last) {
    return 0.0;
  }
  return static_cast<double>(last - first) /
         static_cast<double>(std::max(end, other_end) - std::min(begin, other));
}

/// Returns the first points of the segments, then the length.
std::vector<std::size_t> compute_bounds(const Changes& changes, std::size_t length) {
  std::vector<std::size_t> bounds;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(bounds), [&](std::size_t change) {
    return change < length;
  });
  bounds.push_back(length);
  return bounds;
}

double compute_cover(const Changes& truth, const Changes& found, std::size_t length) {
  const std::vector<std::size_t> segments = compute_bounds(truth, length);
  const std::vector<std::size_t> others = compute_bounds(found, length);
  double cover = 0.0;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    double best = 0.0;
    for (std::size_t k = 0; k + 1 < others.size(); ++k) {
      best =
          std::max(best, compute_jaccard(segments[i], segments[i + 1], others[k], others[k + 1]));
    }
    cover += static_cast<double>(segments[i + 1] - segments[i]) * best;
  }
  return cover / static_cast<double>(length);
}

}  // namespace

SegmentationScore score_segmentation(std::span<const MarkedChanges> annotators,
                                     const MarkedChanges& found,
                                     std::size_t length,
                                     std::size_t margin) {
  const Changes changes = with_start(found);
  SegmentationScore score;
  score.f1 = compute_f1(annotators, changes, margin);
  for (const MarkedChanges& annotator : annotators) {
    score.cover += compute_cover(with_start(annotator), changes, length) /
                   static_cast<double>(annotators.size());
  }
  return score;
}

}  // namespace plumb::stats
