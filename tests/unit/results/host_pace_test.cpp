// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/results/measurement.hpp"

namespace plumb::results {
namespace {

Measurement paced(double seconds) {
  Measurement row;
  row.readings[kHostPace] = {seconds * 1.01, seconds, seconds * 1.02, 2};
  return row;
}

TEST(FastestPace, is_unknown_without_a_row_that_was_paced) {
  Measurement::FastestPace pace;
  EXPECT_FALSE(pace.seconds());
  pace.take_in(Measurement{});
  pace.take_in(paced(0.0));
  EXPECT_FALSE(pace.seconds());
  pace.take_in(paced(3e-5));
  EXPECT_EQ(pace.seconds(), Seconds(3e-5));
  pace.take_in(paced(2e-5));
  EXPECT_EQ(pace.seconds(), Seconds(2e-5)) << "of a few the fastest";
}

TEST(FastestPace, is_not_that_of_one_row_among_many) {
  Measurement::FastestPace pace;
  pace.take_in(paced(1e-5));
  for (int i = 0; i < 19; ++i) {
    pace.take_in(paced(2e-5));
  }
  EXPECT_EQ(pace.seconds(), Seconds(2e-5));
}

}  // namespace
}  // namespace plumb::results
