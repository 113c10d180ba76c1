// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/compare/run_comparison.hpp"
#include "tests/support/result_rows.hpp"

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

results::Measurement output(const std::string& hash, std::optional<double> error) {
  results::Measurement row = test::row(test::key(1), 1000.0);
  row.library_choice = true;
  row.output_hash = hash;
  row.maximum_error = error;
  return row;
}

ResultSet results(const std::vector<results::Measurement>& rows) {
  std::vector<results::StoredMeasurement> stored;
  for (const results::Measurement& row : rows) {
    stored.push_back({.row = static_cast<results::RowId>(stored.size() + 1),
                      .run = "r",
                      .reused = false,
                      .measurement = row});
  }
  return ResultSet(stored);
}

MetricComparison drift(const results::Measurement& before, const results::Measurement& after) {
  const auto metrics = compare_layer_outputs(results({before}), results({after}));
  EXPECT_EQ(metrics.size(), 1U);
  return metrics.empty() ? MetricComparison() : metrics.front();
}

TEST(NumericalDrift, equal_bits_are_equivalent_and_said_to_be_so) {
  const MetricComparison metric = drift(output("a", 1e-7), output("a", 1e-7));
  EXPECT_EQ(metric.kind, MetricKind::kAccuracy);
  EXPECT_EQ(metric.series, "accuracy/" + test::key(1).text);
  EXPECT_EQ(metric.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_TRUE(metric.output->same_bits);
  EXPECT_FALSE(metric.ratio);
  EXPECT_EQ(metric.reason, "the same bit for bit");
}

TEST(NumericalDrift, other_bits_within_the_tolerance_are_equivalent_with_both_errors) {
  const MetricComparison metric = drift(output("a", 1e-7), output("b", 3e-7));
  EXPECT_EQ(metric.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_FALSE(metric.output->same_bits);
  EXPECT_THAT(metric.reason, HasSubstr("1.00e-07 → 3.00e-07"));
}

TEST(NumericalDrift, a_wrong_result_is_regressed_and_the_way_back_improved) {
  results::Measurement wrong = output("b", 0.5);
  wrong.outcome = {results::Outcome::Kind::kWrongResult, "differs by 3"};
  const MetricComparison worse = drift(output("a", 1e-7), wrong);
  EXPECT_EQ(worse.verdict, ComparisonVerdict::kRegressed);
  EXPECT_THAT(worse.reason, HasSubstr("differs by 3"));
  EXPECT_EQ(drift(wrong, output("a", 1e-7)).verdict, ComparisonVerdict::kImproved);
  const MetricComparison both = drift(wrong, wrong);
  EXPECT_EQ(both.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(both.reason, HasSubstr("wrong in both"));
}

TEST(NumericalDrift, other_bits_without_a_reference_are_inconclusive) {
  const MetricComparison metric = drift(output("a", std::nullopt), output("b", std::nullopt));
  EXPECT_EQ(metric.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(metric.reason, HasSubstr("no reference"));
}

TEST(NumericalDrift, what_no_run_hashed_is_left_out_and_what_one_hashed_is_open) {
  EXPECT_THAT(compare_layer_outputs(results({output("", {})}), results({output("", {})})),
              IsEmpty());
  const MetricComparison metric = drift(output("a", 1e-7), output("", {}));
  EXPECT_EQ(metric.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(metric.reason, HasSubstr("the candidate has no hash of this output"));
}

TEST(NumericalDrift, an_output_that_differs_between_processes_is_told) {
  const auto metrics = compare_layer_outputs(results({output("a", 1e-7), output("a", 1e-7)}),
                                             results({output("a", 1e-7), output("b", 2e-7)}));
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_FALSE(metrics[0].output->same_bits);
  EXPECT_THAT(metrics[0].reason, HasSubstr("no longer the same in every process"));
}

TEST(NumericalDrift, only_the_librarys_choice_counts) {
  results::Measurement other = output("z", 1.0);
  other.library_choice = false;
  other.outcome = {results::Outcome::Kind::kWrongResult, "differs"};
  const auto metrics =
      compare_layer_outputs(results({output("a", 1e-7)}), results({output("a", 1e-7), other}));
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_TRUE(metrics[0].output->same_bits);
}

TEST(NumericalDrift, models_are_compared_by_mode) {
  ExecutionTime time;
  time.mode = "plain";
  time.scenario = loadgen::ScenarioName::kSingleStream;
  time.output_hash = "a";
  ModelBounds before;
  before.instance = {"tiny", 1, "f32"};
  before.executions = {time};
  ModelBounds after = before;
  after.executions[0].output_hash = "b";
  const auto same = compare_model_outputs({&before, 1}, {&before, 1});
  ASSERT_EQ(same.size(), 1U);
  EXPECT_EQ(same[0].series, "models/tiny|1|f32/accuracy/plain/single_stream");
  EXPECT_EQ(same[0].model, "tiny|1|f32");
  EXPECT_EQ(same[0].verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(compare_model_outputs({&before, 1}, {&after, 1})[0].verdict,
            ComparisonVerdict::kInconclusive);
  after.executions[0].mode = "fusion";
  EXPECT_THAT(compare_model_outputs({&before, 1}, {&after, 1}), IsEmpty());
}

TEST(NumericalDrift, bits_alone_never_decide_a_comparison_of_runs) {
  const ResultSet before = results({output("a", {})});
  const ResultSet after = results({output("b", {})});
  const RunComparison compared = compare_runs({before, {}}, {after, {}}, {}, {});
  ASSERT_EQ(compared.metrics.size(), 2U);
  EXPECT_EQ(compared.metrics[0].kind, MetricKind::kLayer);
  EXPECT_EQ(compared.verdict, compared.metrics[0].verdict);
}

}  // namespace
}  // namespace plumb::analysis
