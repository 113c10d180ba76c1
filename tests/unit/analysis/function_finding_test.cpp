// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/explain/function_fields.hpp"
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
  const std::vector findings{explained, open};
  const nlohmann::json list = results::json_of(findings);
  EXPECT_EQ(list[1]["baseline_seconds"], nullptr) << "unknown is no zero";
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto back = results::value_from<FunctionFinding>(results::JsonObject(list[i]));
    EXPECT_EQ(results::json_of(back), list[i]);
    EXPECT_EQ(back.control, i == 1);
  }
}

}  // namespace
}  // namespace plumb::analysis
