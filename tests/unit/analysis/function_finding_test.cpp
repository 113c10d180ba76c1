// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/compare/comparison_fields.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

/// Returns what profiles found of a layer that was measured to be 1.06 times as slow, 1.03 to 1.09.
FunctionFinding finding_of(double low, double high) {
  FunctionFinding finding;
  finding.ratio = 1.06;
  finding.low = 1.03;
  finding.high = 1.09;
  finding.mode = "fusion";
  finding.baseline = Seconds(1e-3);
  finding.candidate = Seconds(1e-3 * (1.0 + (low + high) / 2.0));
  finding.change_low = Seconds(1e-3 * low);
  finding.change_high = Seconds(1e-3 * high);
  return finding;
}

TEST(FunctionFindingTest, profiles_disagree_with_a_measurement_beyond_both_intervals) {
  EXPECT_EQ(finding_of(0.01, 0.04).disagrees(), false);
  EXPECT_EQ(finding_of(0.08, 0.2).disagrees(), false);
  EXPECT_EQ(finding_of(0.1, 0.2).disagrees(), true);
  EXPECT_EQ(finding_of(-0.05, 0.02).disagrees(), true);
}

TEST(FunctionFindingTest, nobody_knows_without_intervals_or_in_another_mode) {
  FunctionFinding finding = finding_of(0.1, 0.2);
  finding.measured_mode = "fusion";
  EXPECT_EQ(finding.disagrees(), true);
  finding.measured_mode = "plain";
  EXPECT_EQ(finding.disagrees(), std::nullopt);
  finding = finding_of(0.1, 0.2);
  finding.high.reset();
  EXPECT_EQ(finding.disagrees(), std::nullopt);
  finding = finding_of(0.1, 0.2);
  finding.change_low.reset();
  EXPECT_EQ(finding.disagrees(), std::nullopt);
}

TEST(FunctionFindingTest, json_holds_all_of_them) {
  FunctionFinding explained;
  explained.series = "layers/v1:conv";
  explained.ratio = 1.12;
  explained.low = 1.09;
  explained.high = 1.15;
  explain_change(layered_profile(50, 0), layered_profile(50, 11), is_conv, explained);
  FunctionFinding open;
  open.problem = "too few samples";
  open.control = true;
  const std::vector findings{explained, open};
  const nlohmann::json list = results::json_of(findings);
  EXPECT_EQ(list[1]["baseline_seconds"], nullptr) << "unknown is no zero";
  EXPECT_LT(list[0]["change_low_seconds"], list[0]["change_high_seconds"]);
  EXPECT_EQ(list[0]["disagrees"], true) << "the layer became slower by 22 %";
  EXPECT_EQ(list[1]["disagrees"], nullptr);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto back = results::value_from<FunctionFinding>(results::JsonObject(list[i]));
    EXPECT_EQ(results::json_of(back), list[i]);
    EXPECT_EQ(back.control, i == 1);
  }
}

}  // namespace
}  // namespace plumb::analysis
