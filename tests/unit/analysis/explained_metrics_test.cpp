// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/explained_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ExplainedMetrics, a_model_is_explained_in_the_mode_that_both_profiled) {
  const std::vector<ProfilingChoice::Metric> metrics{
      {"plain", "lenet|1|f32", "plain", "", 1.5, 1.4, 1.6, 1.0},
      {"fusion", "lenet|1|f32", "fusion", "", 1.2, 1.1, 1.3, 0.5},
      {"layers/v1:conv", "", "", "v1:conv", 1.22, {}, {}, 0.3},
      {"layers/v1:gone", "", "", "v1:gone", 1.22, {}, {}, 0.3}};
  const std::vector<FunctionFinding> findings =
      explain_metrics(metrics,
                      std::vector{stored(layered_profile(50, 0))},
                      std::vector{stored(layered_profile(50, 11))},
                      {});
  ASSERT_THAT(findings, SizeIs(2)) << "no step computes v1:gone";
  EXPECT_EQ(findings[0].series, "fusion");
  EXPECT_EQ(findings[0].mode, "fusion");
  EXPECT_EQ(findings[0].ratio, 1.2);
  EXPECT_EQ(findings[1].layer, "v1:conv");
  EXPECT_EQ(findings[1].model, "lenet|1|f32");
  EXPECT_EQ(findings[1].parts.at(0).function, "jit:reorder");
}

TEST(ExplainedMetrics, a_layer_is_found_among_those_that_a_step_fuses) {
  model::Graph graph;
  graph.layers.resize(2);
  graph.layers[0].key.text = "v1:conv_alone";
  const std::vector<ProfilingChoice::Metric> metrics{
      {"layers/v1:conv_alone", "", "", "v1:conv_alone", 1.22, {}, {}, 0.3}};
  const std::vector<FunctionFinding> findings =
      explain_metrics(metrics,
                      std::vector{stored(layered_profile(50, 0))},
                      std::vector{stored(layered_profile(50, 11))},
                      {{"lenet|1|f32", &graph}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].parts.at(0).function, "jit:reorder");
}

TEST(ExplainedMetrics, a_reorder_counts_to_the_layer_that_needs_it) {
  results::NamedProfile before = layered_profile(50, 0);
  results::NamedProfile after = layered_profile(50, 0, 60);
  before.steps[1] = after.steps[1] = {};  // what was "relu" brings the operand into its layout
  before.steps[1].key = after.steps[1].key = "v1:conv";
  before.steps[1].reorder = after.steps[1].reorder = true;
  const std::vector<ProfilingChoice::Metric> metrics{
      {"layers/v1:conv", "", "", "v1:conv", 1.0, 0.99, 1.01, 0.0, true}};
  const std::vector<FunctionFinding> findings =
      explain_metrics(metrics, std::vector{stored(before)}, std::vector{stored(after)}, {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].parts.at(0).step, "relu");
  EXPECT_NEAR(findings[0].change().count(), 3e-4, 1e-9);
  EXPECT_EQ(findings[0].disagrees(), true) << "the layer alone did not change";
}

TEST(ExplainedMetrics, a_model_that_was_measured_in_another_mode_says_so) {
  const std::vector<ProfilingChoice::Metric> metrics{
      {"plain", "lenet|1|f32", "plain", "", 1.5, 1.4, 1.6, 1.0}};
  const std::vector<FunctionFinding> findings =
      explain_metrics(metrics,
                      std::vector{stored(layered_profile(50, 0))},
                      std::vector{stored(layered_profile(50, 11))},
                      {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].measured_mode, "plain");
  EXPECT_EQ(findings[0].mode, "fusion");
  EXPECT_EQ(findings[0].disagrees(), std::nullopt);
}

TEST(ExplainedMetrics, a_side_without_a_profile_is_told_if_the_other_has_one) {
  const std::vector<ProfilingChoice::Metric> metrics{
      {"fusion", "lenet|1|f32", "fusion", "", 1.2, 1.1, 1.3, 0.5}};
  const std::vector<FunctionFinding> findings =
      explain_metrics(metrics, {}, std::vector{stored(layered_profile(50, 11))}, {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].problem, HasSubstr("no profiles"));
  EXPECT_THAT(explain_metrics(metrics, {}, {}, {}), IsEmpty());
}

TEST(ExplainedMetrics, controls_come_last_and_a_changed_model_is_none) {
  std::vector<ProfilingChoice::Metric> metrics{
      {"layers/v1:conv", "", "", "v1:conv", 1.0, 0.99, 1.01, 1.0, true},
      {"plain", "lenet|1|f32", "plain", "", 1.0, 0.99, 1.01, 0.0, true},
      {"fusion", "lenet|1|f32", "fusion", "", 1.2, 1.1, 1.3, 0.5}};
  const auto explain = [&] {
    return explain_metrics(metrics,
                           std::vector{stored(layered_profile(50, 0))},
                           std::vector{stored(layered_profile(50, 11))},
                           {});
  };
  std::vector<FunctionFinding> findings = explain();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].series, "fusion");
  EXPECT_FALSE(findings[0].control);
  EXPECT_EQ(findings[1].layer, "v1:conv");
  EXPECT_TRUE(findings[1].control);
  metrics.pop_back();
  findings = explain();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_TRUE(findings[0].control);
  EXPECT_EQ(findings[0].model, "lenet|1|f32");
}

TEST(ExplainedMetrics, a_layer_in_a_step_with_one_that_changed_is_no_control) {
  model::Graph graph;
  graph.layers.resize(3);
  graph.layers[0].key.text = "v1:conv";
  graph.layers[1].key.text = "v1:relu";
  graph.layers[2].key.text = "v1:add";
  results::NamedProfile before = layered_profile(50, 0);
  results::NamedProfile after = layered_profile(50, 11);
  before.steps[0].layers = after.steps[0].layers = {0, 2};  // the addition is fused
  const std::vector<ProfilingChoice::Metric> metrics{
      {"layers/v1:conv", "", "", "v1:conv", 1.2, 1.1, 1.3, 0.5},
      {"layers/v1:relu", "", "", "v1:relu", 1.0, 0.99, 1.01, 0.0, true, 1.0},
      {"layers/v1:add", "", "", "v1:add", 1.0, 0.99, 1.01, 0.0, true, 9.0}};
  const std::vector<FunctionFinding> findings = explain_metrics(
      metrics, std::vector{stored(before)}, std::vector{stored(after)}, {{"lenet|1|f32", &graph}});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].layer, "v1:conv");
  EXPECT_EQ(findings[1].layer, "v1:relu") << "and not the longer one";
}

TEST(ExplainedMetrics, a_layer_that_was_profiled_alone_is_explained_by_that) {
  ProfilingChoice::Metric metric;
  metric.series = "layers/v1:conv";
  metric.layer = "v1:conv";
  metric.ratio = 1.2;
  metric.delta = 1e-4;
  const auto alone = [](std::uint32_t reorder) {
    results::NamedProfile profile = layered_profile(50, reorder, 1);
    profile.mode = "plain";
    return stored(std::move(profile), "v1:conv");
  };
  const std::vector<FunctionFinding> findings =
      explain_metrics({&metric, 1}, std::vector{alone(0)}, std::vector{alone(11)}, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].model, findings[0].layer);
  EXPECT_EQ(findings[0].mode, "plain");
  ASSERT_EQ(findings[0].parts.size(), 1U);
  EXPECT_EQ(findings[0].parts[0].function, "jit:reorder");
}

}  // namespace
}  // namespace plumb::analysis
