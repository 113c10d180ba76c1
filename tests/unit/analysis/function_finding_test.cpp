// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/explain/function_finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/profile/explained_change.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

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
  const nlohmann::ordered_json list = function_findings_json(std::vector{explained, open});
  EXPECT_EQ(list[1]["baseline_seconds"], nullptr) << "unknown is no zero";
  const std::vector<FunctionFinding> back = function_findings_from_json(nlohmann::json(list));
  EXPECT_EQ(function_findings_json(back), list);
  EXPECT_TRUE(back[1].control);
}

}  // namespace
}  // namespace plumb::analysis
