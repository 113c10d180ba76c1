// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "harness/analysis/profile/explained_metrics.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ExplainedChange, a_new_function_explains_a_slower_layer) {
  FunctionFinding finding;
  explain_change(layered_profile(50, 0), layered_profile(50, 11), is_conv, finding);
  EXPECT_THAT(finding.problem, IsEmpty());
  ASSERT_THAT(finding.parts, SizeIs(1));
  const FunctionFinding::Part& part = finding.parts.front();
  EXPECT_EQ(part.function, "jit:reorder");
  EXPECT_EQ(part.step, "conv");
  EXPECT_FALSE(part.in_baseline);
  EXPECT_TRUE(part.in_candidate);
  EXPECT_NEAR(part.change.count(), 1.1e-4, 6e-6);
  EXPECT_NEAR(part.low.count(), 1.1e-4, 6e-6);
  EXPECT_NEAR(part.high.count(), 1.1e-4, 6e-6);
  EXPECT_NEAR(finding.baseline.count(), 5e-4, 1e-5) << "of the layer alone";
  EXPECT_NEAR((finding.change() / finding.baseline), 0.22, 0.02);
  EXPECT_NEAR(finding.change_low.value().count(), 1.1e-4, 1e-5);
  EXPECT_NEAR(finding.change_high.value().count(), 1.1e-4, 1e-5);
  EXPECT_LT(*finding.change_low, finding.change());
  EXPECT_GT(*finding.change_high, finding.change());
  EXPECT_NEAR(finding.unexplained() / finding.baseline, 0.0, 0.02);
}

TEST(ExplainedChange, tells_what_its_intervals_are_by) {
  const auto of_processes = [](std::size_t count) {
    results::NamedProfile profile = layered_profile(50, 0);
    profile.processes.assign(count, profile.blocks.size() / count);
    return profile;
  };
  for (const auto& [baseline, candidate, unit] :
       {std::tuple(8U, 10U, "processes"), std::tuple(8U, 5U, "blocks")}) {
    FunctionFinding finding;
    explain_change(of_processes(baseline), of_processes(candidate), {}, finding);
    EXPECT_EQ(finding.interval_of, unit);
  }
}

TEST(ExplainedChange, other_steps_are_no_part_of_it) {
  FunctionFinding layer;
  explain_change(layered_profile(50, 0, 30), layered_profile(50, 0, 60), is_conv, layer);
  EXPECT_THAT(layer.parts, IsEmpty());
  EXPECT_LT(layer.change_low.value().count(), 0.0);
  EXPECT_GT(layer.change_high.value().count(), 0.0);
  FunctionFinding model;
  explain_change(layered_profile(50, 0, 30), layered_profile(50, 0, 60), {}, model);
  ASSERT_THAT(model.parts, SizeIs(1));
  EXPECT_EQ(model.parts.front().function, "eltwise");
  EXPECT_NEAR(model.change().count(), 3e-4, 1e-9);
  EXPECT_NEAR(model.change_low.value().count(), 3e-4, 1e-9) << "all blocks take equally long";
}

TEST(ExplainedChange, too_few_samples_name_no_function) {
  results::NamedProfile few = equal_blocks(40, {{"kernel", 1}}).build();
  FunctionFinding finding;
  explain_change(few, few, {}, finding);
  EXPECT_THAT(finding.problem, HasSubstr("too few samples: 40 in 40 blocks"));
  results::NamedProfile short_one = equal_blocks(5, {{"kernel", 1000}}).build();
  finding = {};
  explain_change(short_one, short_one, {}, finding);
  EXPECT_THAT(finding.problem, HasSubstr("5000 in 5 blocks"));
  EXPECT_THAT(finding.parts, IsEmpty());
}

}  // namespace
}  // namespace plumb::analysis
