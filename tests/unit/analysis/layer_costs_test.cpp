// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "tests/support/result_rows.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Edit = std::function<void(int layer, results::Measurement& row)>;

/// Makes a run of layers 1, 2…, each chosen by the library: made in 100 µs, first called in 10 µs,
/// with 4 MiB of workspace.
ResultSet run_of(int layers, const Edit& edit = {}) {
  std::vector<results::StoredMeasurement> rows;
  for (int layer = 1; layer <= layers; ++layer) {
    results::Measurement row =
        test::row(test::key(layer), 1000.0, "impl=choice", results::Purpose::kFull);
    row.library_choice = true;
    row.creation = Seconds(100e-6);
    row.first_call = Seconds(10e-6);
    row.workspace = Bytes{std::int64_t{4} << 20};
    if (edit) {
      edit(layer, row);
    }
    rows.push_back({.row = layer, .run = "r", .reused = false, .measurement = row});
  }
  return ResultSet(std::move(rows));
}

std::vector<ComparisonVerdict> verdicts(const ResultSet& before, const ResultSet& after) {
  std::vector<ComparisonVerdict> found;
  for (const MetricComparison& metric : compare_layer_costs(before, after, {})) {
    EXPECT_EQ(metric.kind, MetricKind::kCost);
    found.push_back(metric.verdict);
  }
  return found;
}

constexpr auto kSame = ComparisonVerdict::kEquivalent;
constexpr auto kWorse = ComparisonVerdict::kRegressed;

TEST(LayerCosts, the_same_costs_are_equivalent) {
  EXPECT_THAT(verdicts(run_of(8), run_of(8)), ElementsAre(kSame, kSame, kSame));
}

TEST(LayerCosts, a_creation_half_as_long_again_is_a_regression_and_names_its_layers) {
  const ResultSet after = run_of(8, [](int layer, results::Measurement& row) {
    row.creation = Seconds((layer == 3 ? 900e-6 : 150e-6) * (layer % 2 == 0 ? 1.02 : 0.98));
  });
  const auto metrics = compare_layer_costs(run_of(8), after, {});
  ASSERT_EQ(metrics.size(), 3U);
  const MetricComparison& creation = metrics[0];
  EXPECT_EQ(creation.series, "costs/creation");
  EXPECT_EQ(creation.verdict, kWorse);
  EXPECT_NEAR(creation.baseline, 100e-6, 1e-12);
  EXPECT_NEAR(*creation.ratio, 1.5, 0.02);  // the layer that stands out is trimmed
  ASSERT_EQ(creation.causes.size(), 3U);
  EXPECT_EQ(creation.causes[0].cause, test::key(3).text);
  EXPECT_THAT(creation.causes[0].evidence, HasSubstr("100 → 882 µs"));
  EXPECT_EQ(metrics[1].verdict, kSame);
  EXPECT_NE(verdict_of_all(metrics), kWorse) << "costs explain, models decide";
}

TEST(LayerCosts, growth_below_a_fifth_is_none) {
  const ResultSet after = run_of(8, [](int layer, results::Measurement& row) {
    row.creation = Seconds(100e-6 * (layer % 2 == 0 ? 1.15 : 1.11));
    row.first_call = Seconds(10e-6 * (layer % 2 == 0 ? 0.9 : 1.1));
  });
  EXPECT_THAT(verdicts(run_of(8), after), ElementsAre(kSame, kSame, kSame));
}

TEST(LayerCosts, scattered_times_are_inconclusive_and_do_not_decide_the_whole) {
  const ResultSet after = run_of(8, [](int layer, results::Measurement& row) {
    row.first_call = Seconds(10e-6 * (layer % 2 == 0 ? 3.0 : 0.4));
  });
  const auto metrics = compare_layer_costs(run_of(8), after, {});
  EXPECT_EQ(metrics[1].verdict, ComparisonVerdict::kInconclusive);
  EXPECT_NE(verdict_of_all(metrics), kWorse);
}

TEST(LayerCosts, workspace_is_compared_exactly_in_bytes) {
  const ResultSet more = run_of(8, [](int layer, results::Measurement& row) {
    row.workspace = Bytes{row.workspace.value * layer};
  });
  const MetricComparison grown = compare_layer_costs(run_of(8), more, {})[2];
  EXPECT_TRUE(grown.in_bytes);
  EXPECT_EQ(grown.verdict, kWorse);
  EXPECT_EQ(grown.baseline, 8.0 * (4 << 20));
  EXPECT_EQ(*grown.ratio, 4.5);  // 36 ÷ 8
  EXPECT_EQ(grown.causes[0].cause, test::key(8).text);
  EXPECT_NEAR(grown.causes[0].share, 7.0 / 28.0, 1e-12);
  EXPECT_EQ(compare_layer_costs(more, run_of(8), {})[2].verdict, ComparisonVerdict::kImproved);
  const ResultSet none = run_of(8, [](int, results::Measurement& row) { row.workspace = {}; });
  EXPECT_EQ(compare_layer_costs(none, run_of(8), {})[2].verdict, kWorse);
  EXPECT_EQ(compare_layer_costs(none, run_of(8), {})[2].reason, "none before");
  EXPECT_EQ(compare_layer_costs(none, none, {}).size(), 2U);
}

TEST(LayerCosts, little_evidence_and_disturbed_blocks_say_nothing) {
  EXPECT_THAT(compare_layer_costs(run_of(4), run_of(4), {}), IsEmpty());
  const ResultSet disturbed =
      run_of(8, [](int, results::Measurement& row) { row.disturbance.disturbed = true; });
  const auto exact = compare_layer_costs(run_of(8), disturbed, {});
  ASSERT_EQ(exact.size(), 1U);
  EXPECT_EQ(exact[0].series, "costs/workspace");
}

TEST(LayerCosts, a_busy_host_proves_nothing) {
  const auto slower = [](int busy) {
    return run_of(20, [busy](int layer, results::Measurement& row) {
      row.creation = Seconds(200e-6 * (layer % 2 == 0 ? 1.02 : 0.98));
      row.disturbance.disturbed = layer <= busy;
    });
  };
  EXPECT_EQ(compare_layer_costs(run_of(20), slower(2), {})[0].verdict, kWorse);
  const MetricComparison open = compare_layer_costs(run_of(20), slower(3), {})[0];
  EXPECT_EQ(open.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_EQ(open.reason, "the host was disturbed during 3 of 20 layers");
}

}  // namespace
}  // namespace plumb::analysis
