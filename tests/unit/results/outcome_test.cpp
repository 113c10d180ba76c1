// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/results/measurement.hpp"

namespace plumb::results {
namespace {

TEST(Outcome, every_kind_reads_back_from_its_text) {
  for (int i = 0; i <= static_cast<int>(Outcome::Kind::kSkipped); ++i) {
    const auto kind = static_cast<Outcome::Kind>(i);
    EXPECT_EQ(parse_outcome_kind(to_text(kind)), kind) << i;
  }
  EXPECT_EQ(to_text(Outcome::Kind::kOutOfMemory), "out_of_memory");
}

TEST(Outcome, unknown_text_is_absent) {
  EXPECT_EQ(parse_outcome_kind("OK"), std::nullopt);
  EXPECT_EQ(parse_outcome_kind(""), std::nullopt);
}

TEST(Outcome, unstable_has_a_time_but_is_not_ok) {
  const Outcome unstable{Outcome::Kind::kUnstable, "interval ±8%"};
  EXPECT_TRUE(unstable.timed());
  EXPECT_FALSE(unstable.ok());
  const Outcome wrong{Outcome::Kind::kWrongResult, "error 0.4"};
  EXPECT_FALSE(wrong.timed());
}

}  // namespace
}  // namespace plumb::results
