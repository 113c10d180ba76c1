// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/function_growth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

RunMerger::DatedProfile dated(int day,
                              results::NamedProfile profile,
                              const std::string& subject = "lenet|1|f32",
                              const std::string& system = "a",
                              const std::string& environment = "1234") {
  results::StoredProfile kept = stored(std::move(profile), subject);
  kept.run = "run" + std::to_string(day);
  return {Timestamp(std::chrono::days(day)), system, environment, std::move(kept)};
}

TEST(FunctionGrowthTest, the_first_and_the_last_profile_are_compared) {
  const std::vector<FunctionGrowth> found =
      find_function_growth(std::vector{dated(3, layered_profile(50, 11)),
                                       dated(1, layered_profile(50, 0)),
                                       dated(2, layered_profile(70, 0))});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].profiles, 3U);
  EXPECT_EQ(found[0].first.run, "run1");
  EXPECT_EQ(found[0].last.run, "run3");
  const ProfileDifference::Function& most = found[0].difference.functions.front();
  EXPECT_EQ(most.function.name, "jit:reorder");
  EXPECT_GT(most.change(), Seconds(0.0));
}

TEST(FunctionGrowthTest, runs_of_one_environment_are_merged_at_each_end) {
  std::vector<RunMerger::DatedProfile> profiles;
  for (int day = 1; day <= 16; ++day) {
    profiles.push_back(dated(day,
                             day < 10 ? layered_profile(50, 0) : layered_profile(50, 11),
                             "lenet|1|f32",
                             "a",
                             day < 12 ? "before" : "after"));
  }
  const std::vector<FunctionGrowth> found = find_function_growth(profiles);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].first.run, "run1");
  EXPECT_EQ(found[0].first.runs, kMaxEndRuns);
  EXPECT_EQ(found[0].last.run, "run16");
  EXPECT_EQ(found[0].last.runs, 5U) << "the sixth from the end is of another environment";
  EXPECT_EQ(found[0].difference.functions.front().function.name, "jit:reorder");
}

TEST(FunctionGrowthTest, systems_and_modes_are_not_mixed) {
  results::NamedProfile plain = layered_profile(50, 0);
  plain.mode = "plain";
  EXPECT_THAT(
      find_function_growth(std::vector{dated(1, layered_profile(50, 0)),
                                       dated(2, plain),
                                       dated(3, layered_profile(50, 0), "lenet|1|f32", "b")}),
      SizeIs(0));
}

TEST(FunctionGrowthTest, what_grew_most_comes_first_and_what_cannot_be_told_last) {
  results::NamedProfile few = equal_blocks(40, {{"kernel", 1}}).build();
  const std::vector<FunctionGrowth> found =
      find_function_growth(std::vector{dated(1, few, "few"),
                                       dated(2, few, "few"),
                                       dated(1, layered_profile(50, 0), "some"),
                                       dated(2, layered_profile(50, 11), "some"),
                                       dated(1, layered_profile(50, 0), "more"),
                                       dated(2, layered_profile(50, 60), "more")});
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].subject, "more");
  EXPECT_EQ(found[1].subject, "some");
  EXPECT_EQ(found[2].subject, "few");
  EXPECT_THAT(found[2].problem, HasSubstr("too few samples"));
}

}  // namespace
}  // namespace plumb::analysis
