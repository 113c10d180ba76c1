// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/confirmation.hpp"

#include <gmock/gmock.h>

#include "tests/support/result_rows.hpp"

namespace plumb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MetricComparison metric_of(const std::string& series, const std::string& kind, double ratio) {
  MetricComparison metric;
  metric.series = series;
  metric.kind = kind;
  metric.model = kind == "end_to_end" ? "m|1|f32" : "";
  metric.baseline = 1.0;
  metric.candidate = ratio;
  metric.ratio = ratio;
  metric.p = metric.q = 1e-4;
  metric.floor = PracticalFloor{0.02, FloorSource::kAssumed};
  metric.decides = kind == "end_to_end";
  metric.verdict = ratio > 1.0 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved;
  return metric;
}

RunComparison comparison_of(std::vector<MetricComparison> metrics) {
  RunComparison comparison;
  comparison.metrics = std::move(metrics);
  comparison.verdict = ComparisonVerdict::kRegressed;
  return comparison;
}

/// A candidate whose model spends `share` of its time in the layer of test::key(1).
std::map<std::string, std::vector<Execution>> executions_with(double share) {
  Execution execution;
  execution.mode = "plain";
  execution.layers.resize(2);
  execution.layers[0].key = test::key(1);
  execution.layers[0].seconds = Seconds(share);
  execution.layers[1].key = test::key(2);
  execution.layers[1].seconds = Seconds(1.0 - share);
  return {{"m|1|f32", {execution}}};
}

TEST(Confirmation, suspects_models_and_layers_with_a_share) {
  const ResultSet none({});
  const std::string layer = "layers/" + test::key(1).text;
  const RunComparison comparison = comparison_of({metric_of("models/m", "end_to_end", 1.1),
                                                  metric_of(layer, "layer", 1.2),
                                                  metric_of("capability/x", "capability", 1.5),
                                                  metric_of("models/n", "end_to_end", 0.9)});
  const Suspects large = find_suspects(comparison, {none, {}, executions_with(0.05)});
  EXPECT_THAT(large.series, ElementsAre(layer, "models/m"));
  EXPECT_THAT(large.models, ElementsAre("m|1|f32"));
  EXPECT_THAT(large.layers, ElementsAre(test::key(1)));
  const Suspects small = find_suspects(comparison, {none, {}, executions_with(0.005)});
  EXPECT_THAT(small.series, ElementsAre("models/m")) << "0.5 % of the model's time fails no gate";
}

TEST(Confirmation, reports_what_fresh_processes_confirm_by_their_numbers) {
  RunComparison comparison = comparison_of({metric_of("models/m", "end_to_end", 1.10)});
  comparison.metrics[0].causes = {{"implementation changed", 1.0, "a → b"}};
  const RunComparison again = comparison_of({metric_of("models/m", "end_to_end", 1.06)});
  conclude_confirmation({{"models/m"}, {"m|1|f32"}, {}}, again, comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(comparison.metrics[0].confirmed, true);
  EXPECT_DOUBLE_EQ(*comparison.metrics[0].ratio, 1.06);
  EXPECT_EQ(comparison.metrics[0].causes.size(), 1U);
}

TEST(Confirmation, clears_what_they_do_not) {
  struct Case {
    double ratio;
    double p;
  };
  for (const auto& [ratio, p] :
       {Case{1.01, 1e-6}, Case{1.10, 0.2}, Case{0.90, 1e-6}}) {  // small, unsure, the other way
    MetricComparison steady = metric_of("models/n", "end_to_end", 1.0);
    steady.verdict = ComparisonVerdict::kEquivalent;
    RunComparison comparison = comparison_of({metric_of("models/m", "end_to_end", 1.10), steady});
    RunComparison again = comparison_of({metric_of("models/m", "end_to_end", ratio)});
    again.metrics[0].p = p;
    conclude_confirmation({{"models/m"}, {"m|1|f32"}, {}}, again, comparison);
    EXPECT_EQ(comparison.verdict, ComparisonVerdict::kEquivalent) << ratio;
    const auto found = std::find_if(comparison.metrics.begin(),
                                    comparison.metrics.end(),
                                    [](const auto& each) { return each.series == "models/m"; });
    EXPECT_EQ(found->verdict, ComparisonVerdict::kInconclusive);
    EXPECT_EQ(found->confirmed, false);
    EXPECT_THAT(found->reason, HasSubstr("not confirmed: in fresh processes it took"));
  }
}

TEST(Confirmation, lets_a_confirmed_layer_decide) {
  const std::string layer = "layers/" + test::key(1).text;
  MetricComparison model = metric_of("models/m", "end_to_end", 1.0);
  model.verdict = ComparisonVerdict::kEquivalent;
  RunComparison comparison = comparison_of({metric_of(layer, "layer", 1.3), model});
  comparison.verdict = ComparisonVerdict::kEquivalent;
  conclude_confirmation(
      {{layer}, {}, {test::key(1)}}, comparison_of({metric_of(layer, "layer", 1.3)}), comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kRegressed);
}

}  // namespace
}  // namespace plumb
