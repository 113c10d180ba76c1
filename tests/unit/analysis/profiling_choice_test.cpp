// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/profile/explained_metrics.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ProfilingChoice::Metric model_metric(const std::string& model,
                                     const std::string& mode,
                                     double delta,
                                     double baseline = 1.0) {
  ProfilingChoice::Metric metric;
  metric.series = "models/" + model + "/" + mode;
  metric.model = model;
  metric.mode = mode;
  metric.delta = delta;
  metric.baseline = baseline;
  return metric;
}

ProfilingChoice::Metric layer_metric(const std::string& layer,
                                     double delta,
                                     double baseline = 1.0) {
  ProfilingChoice::Metric metric;
  metric.series = "layers/" + layer;
  metric.layer = layer;
  metric.delta = delta;
  metric.baseline = baseline;
  return metric;
}

std::vector<std::string> texts(const ProfilingChoice& choice) {
  std::vector<std::string> all;
  for (const ProfilingChoice::Model& each : choice.models) {
    all.push_back(each.subject + " " + to_text(each.mode));
  }
  return all;
}

TEST(ProfilingChoiceTest, a_model_is_profiled_in_the_mode_that_changed_most) {
  const ProfilingChoice choice = choose_profiling({model_metric("a", "plain", 0.1),
                                                   model_metric("a", "fusion", -0.2),
                                                   model_metric("a", "best_variant", 0.9),
                                                   model_metric("b", "best_variant", 0.9)},
                                                  {},
                                                  {});
  EXPECT_THAT(texts(choice), ElementsAre("a fusion", "b plain"))
      << "best_variant needs the times of layers";
  EXPECT_THAT(choice.metrics, SizeIs(4));
}

TEST(ProfilingChoiceTest, a_layer_adds_a_model_unless_one_of_its_models_changed) {
  const ProfilingChoice choice = choose_profiling(
      {model_metric("b", "fusion", 0.1), layer_metric("conv", 0.1), layer_metric("pool", 0.1)},
      {},
      {{"conv", {"a", "b"}}, {"pool", {"c", "d"}}, {"relu", {"e"}}});
  EXPECT_THAT(texts(choice), ElementsAre("b fusion", "c plain"));
}

TEST(ProfilingChoiceTest, controls_are_a_long_layer_and_a_short_model_that_did_not_change) {
  const std::vector<ProfilingChoice::Metric> not_changed{model_metric("b", "plain", 0.0, 3.0),
                                                         model_metric("c", "fusion", 0.0, 2.0),
                                                         model_metric("a", "plain", 0.0, 1.0),
                                                         layer_metric("conv", 0.0, 0.1),
                                                         layer_metric("pool", 0.0, 0.2),
                                                         layer_metric("relu", 0.0, 0.5)};
  const ProfilingChoice choice = choose_profiling(
      {model_metric("a", "fusion", 0.1)}, not_changed, {{"conv", {"a"}}, {"pool", {"a", "b"}}});
  EXPECT_THAT(texts(choice), ElementsAre("a fusion", "c fusion"));
  ASSERT_THAT(choice.metrics, SizeIs(4));
  EXPECT_EQ(choice.metrics[1].model, "c");
  EXPECT_TRUE(choice.metrics[1].control);
  EXPECT_EQ(choice.metrics[2].layer, "pool") << "'relu' is in no profiled model";
  EXPECT_EQ(choice.metrics[3].layer, "conv");
  EXPECT_TRUE(choice.metrics[2].control && choice.metrics[3].control);
}

TEST(ProfilingChoiceTest, layers_of_no_model_are_profiled_alone_with_a_control) {
  std::vector<ProfilingChoice::Metric> changed;
  for (int i = 0; i < 12; ++i) {
    changed.push_back(layer_metric("gemm" + std::to_string(i), i % 2 == 0 ? 0.1 * i : -0.1 * i));
  }
  const std::vector<ProfilingChoice::Metric> not_changed{
      layer_metric("short", 0.0, 0.1), layer_metric("long", 0.0, 0.2), layer_metric("pool", 0.0)};
  const std::map<std::string, std::vector<std::string>> models{{"pool", {"b"}}};
  const ProfilingChoice choice = choose_profiling(changed, not_changed, models);
  ASSERT_THAT(choice.models, SizeIs(kMaxExplainedLayers + 1));
  EXPECT_EQ(choice.models[0].layer, "gemm11");
  EXPECT_EQ(choice.models[0].subject, "gemm11");
  EXPECT_EQ(to_text(choice.models[0].mode), "plain");
  EXPECT_EQ(choice.models[1].layer, "gemm10");
  EXPECT_EQ(choice.models.back().layer, "long");
  EXPECT_EQ(choice.metrics.back().layer, "long");
  EXPECT_TRUE(choice.metrics.back().control);
  EXPECT_FALSE(choice.metrics[choice.metrics.size() - 2].control) << "'pool' is in a model";
  EXPECT_FALSE(has_model(choice));
  changed.push_back(model_metric("a", "fusion", 0.1));
  const ProfilingChoice of_model = choose_profiling(changed, not_changed, models);
  EXPECT_THAT(texts(of_model), ElementsAre("a fusion")) << "no layer alone beside a model";
  EXPECT_TRUE(has_model(of_model));
}

TEST(ProfilingChoiceTest, a_compared_metric_is_described_by_its_change) {
  MetricComparison compared;
  compared.series = "layers/conv";
  compared.model = "lenet";
  compared.baseline = 2.0;
  compared.candidate = 3.0;
  compared.ratio = 1.5;
  compared.low = 1.4;
  compared.high = 1.6;
  compared.delta = 1.0;
  const ProfilingChoice::Metric described = describe_metric(compared);
  EXPECT_EQ(described.series, "layers/conv");
  EXPECT_EQ(described.ratio, 1.5);
  EXPECT_EQ(described.low, 1.4);
  EXPECT_EQ(described.high, 1.6);
  EXPECT_EQ(described.delta, 1.0);
  EXPECT_EQ(described.baseline, 2.0);
  EXPECT_FALSE(described.control);
  EXPECT_EQ(described.model + described.mode + described.layer, "") << "the caller knows it";
  compared.has_interval = false;
  const ProfilingChoice::Metric of_one_sample = describe_metric(compared);
  EXPECT_EQ(of_one_sample.ratio, 1.5);
  EXPECT_FALSE(of_one_sample.low);
  EXPECT_FALSE(of_one_sample.high);
}

TEST(ProfilingChoiceTest, a_metric_of_runs_is_of_its_model_and_mode_or_of_its_layer) {
  RunComparison comparison;
  MetricComparison model;
  model.series = "models/lenet|1|f32/end_to_end/fusion/latency";
  model.kind = MetricKind::kEndToEnd;
  model.model = "lenet|1|f32";
  model.ratio = 1.5;
  model.verdict = ComparisonVerdict::kRegressed;
  MetricComparison layer = model;
  layer.series = "layers/v1:relu";
  layer.kind = MetricKind::kLayer;
  layer.model = "";
  comparison.metrics = {model, layer};
  const ProfilingChoice choice = choose_comparison_profiling(comparison, {});
  ASSERT_THAT(choice.metrics, SizeIs(2));
  EXPECT_EQ(choice.metrics[0].model, "lenet|1|f32");
  EXPECT_EQ(choice.metrics[0].mode, "fusion");
  EXPECT_EQ(choice.metrics[0].layer, "");
  EXPECT_EQ(choice.metrics[1].model + choice.metrics[1].mode, "");
  EXPECT_EQ(choice.metrics[1].layer, "v1:relu");
}

TEST(ProfilingChoiceTest, nothing_is_profiled_if_nothing_changed) {
  const ProfilingChoice choice = choose_profiling({}, {{model_metric("a", "plain", 0.0)}}, {});
  EXPECT_THAT(choice.models, IsEmpty());
  EXPECT_THAT(choice.metrics, IsEmpty());
}

}  // namespace
}  // namespace plumb::analysis
