// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/merged_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/profile/explained_change.hpp"
#include "harness/analysis/profile/profile_summary.hpp"
#include "harness/base/error.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

using testing::SizeIs;

TEST(MergedProfile, samples_of_two_processes_add_up) {
  results::NamedProfile merged = layered_profile(50, 0);
  merge_profile(layered_profile(50, 11), merged);
  EXPECT_THAT(merged.blocks, SizeIs(80));
  EXPECT_THAT(merged.steps, SizeIs(2));
  EXPECT_THAT(merged.functions, SizeIs(3));
  EXPECT_EQ(count_samples(merged, {}),
            count_samples(layered_profile(50, 0), {}) + count_samples(layered_profile(50, 11), {}));
  EXPECT_EQ(count_samples(merged, is_conv),
            count_samples(layered_profile(50, 0), is_conv) +
                count_samples(layered_profile(50, 11), is_conv));
  EXPECT_EQ(summarize_profile(merged).executions, 8000U);
}

TEST(MergedProfile, another_program_adds_its_steps) {
  results::NamedProfile other = layered_profile(50, 11);
  other.steps[0].variant = "impl=ref";
  results::NamedProfile merged = layered_profile(50, 0);
  merge_profile(other, merged);
  ASSERT_THAT(merged.steps, SizeIs(3));
  EXPECT_EQ(merged.steps[2].variant, "impl=ref");
  EXPECT_EQ(merged.step_names[2], "conv");
}

TEST(MergedProfile, another_model_or_mode_is_refused) {
  results::NamedProfile merged = layered_profile(50, 0);
  results::NamedProfile other = layered_profile(50, 0);
  other.mode = "plain";
  EXPECT_THROW(merge_profile(other, merged), Error);
}

}  // namespace
}  // namespace plumb::analysis
