// SPDX-License-Identifier: Apache-2.0
#include "harness/results/paired_round.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plumb::results {
namespace {

Measurement row_of(double median, std::vector<Seconds> turns) {
  Measurement row;
  row.summary.n = 5;
  row.summary.median = Seconds(median);
  row.summary.interval = {row.summary.median, row.summary.median};
  row.turns = std::move(turns);
  return row;
}

TEST(Controls, keep_their_host_if_they_have_one) {
  const Controls named{Seconds(1e-7), Seconds(1e-3), Seconds(5e-3), "node \"7\" GPU-1"};
  const Controls read = controls_from_json(to_json(named));
  EXPECT_EQ(read.host, named.host);
  EXPECT_EQ(read.product, named.product);
  EXPECT_EQ(to_json(Controls{}).find("host"), std::string::npos) << "as earlier versions wrote it";
  EXPECT_EQ(controls_from_json(to_json(Controls{})).host, "");
}

TEST(PairTimes, are_medians_where_no_turns_were_taken) {
  const PairedRound::Times times = pair_times(row_of(2.0, {}), row_of(3.0, {}));
  EXPECT_EQ(times.baseline, Seconds(2.0));
  EXPECT_EQ(times.candidate, Seconds(3.0));
}

// The machine is slow in three of five turns of one side, and in two of the other's: the medians
// differ by 50 %, the neighbours by 2 %.
TEST(PairTimes, compare_neighbouring_turns) {
  const Measurement baseline =
      row_of(1.0, {Seconds(1.0), Seconds(1.0), Seconds(1.5), Seconds(1.5), Seconds(1.0)});
  const Measurement candidate =
      row_of(1.53, {Seconds(1.02), Seconds(1.53), Seconds(1.53), Seconds(1.53), Seconds(1.02)});
  const PairedRound::Times times = pair_times(baseline, candidate);
  EXPECT_NEAR(times.candidate / times.baseline, 1.02, 1e-12);
  EXPECT_NEAR(times.candidate.count() * times.baseline.count(), 1.0 * 1.53, 1e-12);
  const PairedRound::Times back = pair_times(candidate, baseline);
  EXPECT_NEAR(back.baseline / back.candidate, 1.02, 1e-12) << "the sides are alike";
}

TEST(PairTimes, pair_only_turns_that_both_sides_have) {
  const std::vector<Seconds> ones(4, Seconds(1.0));
  std::vector<Seconds> more(4, Seconds(1.1));
  more.insert(more.end(), 6, Seconds(9.0));
  const PairedRound::Times times = pair_times(row_of(1.0, ones), row_of(9.0, more));
  EXPECT_NEAR(times.candidate / times.baseline, 1.1, 1e-12);
}

TEST(PairTimes, subtract_the_harness_overhead_of_each_turn) {
  Measurement baseline = row_of(1.0, std::vector<Seconds>(3, Seconds(1.0)));
  Measurement candidate = row_of(1.5, std::vector<Seconds>(3, Seconds(1.5)));
  baseline.floor = candidate.floor = Seconds(0.5);
  const PairedRound::Times times = pair_times(baseline, candidate);
  EXPECT_NEAR(times.candidate / times.baseline, 2.0, 1e-12);
}

}  // namespace
}  // namespace plumb::results
