// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

double f1(const std::vector<MarkedChanges>& annotators, const MarkedChanges& found) {
  return score_segmentation(annotators, found, 100).f1;
}

double cover(const std::vector<MarkedChanges>& annotators, const MarkedChanges& found) {
  return score_segmentation(annotators, found, 45).cover;
}

TEST(SegmentationScore, f1_by_hand) {
  // Union {0, 10, 50}, found {0, 10}: precision 1; recall (1 + 1 + 1/2) / 3 = 5/6.
  EXPECT_DOUBLE_EQ(f1({{}, {10}, {50}}, {10}), 10.0 / 11.0);
  // Found {0}: precision 1; recall (1 + 1/2 + 1/2) / 3 = 2/3.
  EXPECT_DOUBLE_EQ(f1({{}, {10}, {50}}, {}), 0.8);
  EXPECT_DOUBLE_EQ(f1({{10, 20}, {11, 20}, {10}, {0, 5}}, {10, 20}), 1.0);
  // Found {0, 60}: precision 1/2, recall 1/2.
  EXPECT_DOUBLE_EQ(f1({{50}}, {60}), 0.5);
}

TEST(SegmentationScore, a_found_change_counts_once_within_the_margin) {
  EXPECT_DOUBLE_EQ(f1({{50}}, {55}), 1.0);
  EXPECT_DOUBLE_EQ(f1({{50}}, {56}), 0.5);
  // {0, 50, 52} against {0, 51}: precision 1, recall 2/3.
  EXPECT_DOUBLE_EQ(f1({{50, 52}}, {51}), 0.8);
}

TEST(SegmentationScore, cover_by_hand) {
  // One found segment of 45: 1; (10² + 35²) / 45²; (40² + 5²) / 45².
  EXPECT_NEAR(cover({{}, {10}, {40}}, {}), (1.0 + (1325.0 + 1625.0) / 2025.0) / 3.0, 1e-12);
  // Found 10 and 35: 35/45; 1; of 40 the second shares 30 of 45, of 5 all, 5 of 35.
  EXPECT_NEAR(cover({{}, {10}, {40}}, {10}),
              (35.0 / 45.0 + 1.0 + (40.0 * 30.0 / 45.0 + 5.0 / 7.0) / 45.0) / 3.0,
              1e-12);
  EXPECT_DOUBLE_EQ(cover({{10, 20}}, {10, 20}), 1.0);
}

}  // namespace
}  // namespace plumb::stats
