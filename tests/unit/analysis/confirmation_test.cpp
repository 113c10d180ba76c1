// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/confirmation.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "tests/support/result_rows.hpp"

namespace plumb::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kModelM = "models/m|1|f32/end_to_end/fusion/single_stream";
constexpr const char* kModelN = "models/n|1|f32/end_to_end/fusion/single_stream";

MetricComparison metric_of(const std::string& series, MetricKind kind, double ratio) {
  MetricComparison metric;
  metric.series = series;
  metric.kind = kind;
  metric.model = kind == MetricKind::kEndToEnd ? "m|1|f32" : "";
  metric.baseline = 1.0;
  metric.candidate = ratio;
  metric.ratio = ratio;
  metric.p = metric.q = 1e-4;
  metric.floor = MetricComparison::Floor{0.02, MetricComparison::Floor::Source::kAssumed};
  metric.decides = kind == MetricKind::kEndToEnd;
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
std::map<std::string, std::vector<results::Execution>> executions_with(double share) {
  results::Execution execution;
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
  const RunComparison comparison =
      comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.1),
                     metric_of(layer, MetricKind::kLayer, 1.2),
                     metric_of("capability/x", MetricKind::kCapability, 1.5),
                     metric_of(kModelN, MetricKind::kEndToEnd, 0.9)});
  const PairedConfirmation::Suspects large =
      find_suspects(comparison,
                    {none, {}, executions_with(0.05)},
                    PairedConfirmation::Suspects::Rule::kRegressed);
  EXPECT_THAT(large.series, ElementsAre(layer, kModelM));
  EXPECT_THAT(large.subjects(), ElementsAre("m|1|f32"));
  EXPECT_THAT(large.models, ElementsAre(results::ModelMode{"m|1|f32", "fusion"}));
  EXPECT_THAT(large.layers, ElementsAre(test::key(1)));
  const PairedConfirmation::Suspects small =
      find_suspects(comparison,
                    {none, {}, executions_with(0.005)},
                    PairedConfirmation::Suspects::Rule::kRegressed);
  EXPECT_THAT(small.series, ElementsAre(kModelM)) << "0.5 % of the model's time fails no gate";
}

TEST(Confirmation, reports_what_fresh_processes_confirm_by_their_numbers) {
  RunComparison comparison = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.10)});
  comparison.metrics[0].causes = {{"implementation changed", 1.0, "a → b"}};
  const RunComparison again = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.06)});
  conclude_confirmation({{kModelM}, {{"m|1|f32", "fusion"}}, {}}, again, comparison);
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
    MetricComparison steady = metric_of(kModelN, MetricKind::kEndToEnd, 1.0);
    steady.verdict = ComparisonVerdict::kEquivalent;
    RunComparison comparison =
        comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.10), steady});
    RunComparison again = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, ratio)});
    again.metrics[0].p = p;
    conclude_confirmation({{kModelM}, {{"m|1|f32", "fusion"}}, {}}, again, comparison);
    EXPECT_EQ(comparison.verdict, ComparisonVerdict::kEquivalent) << ratio;
    const auto found = std::find_if(comparison.metrics.begin(),
                                    comparison.metrics.end(),
                                    [](const auto& each) { return each.series == kModelM; });
    EXPECT_EQ(found->verdict, ComparisonVerdict::kInconclusive);
    EXPECT_EQ(found->confirmed, false);
    EXPECT_THAT(found->reason, HasSubstr("not confirmed: in fresh processes it took"));
  }
}

TEST(Confirmation, lets_a_confirmed_layer_decide) {
  const std::string layer = "layers/" + test::key(1).text;
  MetricComparison model = metric_of(kModelM, MetricKind::kEndToEnd, 1.0);
  model.verdict = ComparisonVerdict::kEquivalent;
  RunComparison comparison = comparison_of({metric_of(layer, MetricKind::kLayer, 1.3), model});
  comparison.verdict = ComparisonVerdict::kEquivalent;
  conclude_confirmation({{layer}, {}, {test::key(1)}},
                        comparison_of({metric_of(layer, MetricKind::kLayer, 1.3)}),
                        comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kRegressed);
}

RoundComparison::Metric pair_of(const std::string& subject,
                                const std::string& mode,
                                double ratio,
                                double reach,
                                ComparisonVerdict verdict) {
  RoundComparison::Metric pair;
  pair.subject = subject;
  pair.mode = mode;
  pair.test.ratio = ratio;
  pair.test.low = ratio - reach;
  pair.test.high = ratio + reach;
  pair.test.verdict = verdict;
  pair.baseline_seconds.assign(12, 1.0);
  return pair;
}

TEST(Confirmation, suspects_little_where_pairs_decide) {
  using enum ComparisonVerdict;
  const ResultSet none({});
  const std::string layer = "layers/" + test::key(1).text;
  MetricComparison slower = metric_of(kModelM, MetricKind::kEndToEnd, 1.001);
  slower.verdict = kEquivalent;
  MetricComparison unknown = metric_of(kModelN, MetricKind::kEndToEnd, 0.98);
  unknown.model = "n|1|f32";
  unknown.verdict = kInconclusive;
  MetricComparison faster =
      metric_of("models/o|1|f32/end_to_end/fusion/latency", MetricKind::kEndToEnd, 0.99);
  faster.model = "o|1|f32";
  faster.verdict = kEquivalent;
  MetricComparison layer_slower = metric_of(layer, MetricKind::kLayer, 1.06);
  layer_slower.p = 0.03;
  layer_slower.verdict = kInconclusive;
  const RunComparison comparison = comparison_of({slower, unknown, faster, layer_slower});
  const RunComparison::Side candidate{none, {}, executions_with(0.05)};
  EXPECT_THAT(
      find_suspects(comparison, candidate, PairedConfirmation::Suspects::Rule::kSlower).series,
      ElementsAre(layer, kModelM, kModelN));
  EXPECT_TRUE(
      find_suspects(comparison, candidate, PairedConfirmation::Suspects::Rule::kRegressed).empty());
}

TEST(Confirmation, pairs_divide_out_what_the_machine_did) {
  using enum ComparisonVerdict;
  const std::string layer = "layers/" + test::key(1).text;
  const PairedConfirmation::Suspects suspects{
      {kModelM, layer}, {{"m|1|f32", "fusion"}}, {test::key(1)}};
  RunComparison comparison =
      comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.09),
                     metric_of(layer, MetricKind::kLayer, 1.30),
                     metric_of("capability/x", MetricKind::kCapability, 1.5)});
  PairedConfirmation pairs{12, 12, false, {}};
  pairs.metrics = {pair_of("m|1|f32", "fusion", 1.002, 0.004, kEquivalent),
                   pair_of(test::key(1).text, "", 1.01, 0.02, kInconclusive)};
  conclude_pairs(suspects, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, kEquivalent);
  for (const MetricComparison& metric : comparison.metrics) {
    EXPECT_EQ(metric.confirmed, false) << metric.series;
    EXPECT_EQ(metric.verdict, metric.kind == MetricKind::kCapability ? kInconclusive : kEquivalent);
  }
  EXPECT_DOUBLE_EQ(*comparison.metrics[0].ratio, 1.002);
  EXPECT_THAT(comparison.metrics[0].reason, HasSubstr("the runs differ by +9.0 %"));
}

// The runs met a disturbed host and have no ratio. Pairs need no quiet host.
TEST(Confirmation, pairs_decide_what_a_disturbed_host_left_open) {
  using enum ComparisonVerdict;
  const ResultSet none({});
  MetricComparison disturbed = metric_of(kModelM, MetricKind::kEndToEnd, 1.0);
  disturbed.ratio.reset();
  disturbed.p.reset();
  disturbed.verdict = kInconclusive;
  disturbed.reason = "the host was disturbed";
  RunComparison comparison = comparison_of({disturbed});
  const RunComparison::Side candidate{none, {}, executions_with(0.05)};
  const PairedConfirmation::Suspects suspects =
      find_suspects(comparison, candidate, PairedConfirmation::Suspects::Rule::kSlower);
  EXPECT_THAT(suspects.series, ElementsAre(kModelM));
  EXPECT_TRUE(
      find_suspects(comparison, candidate, PairedConfirmation::Suspects::Rule::kRegressed).empty());
  PairedConfirmation pairs{12, 12, false, {}};
  pairs.metrics = {pair_of("m|1|f32", "fusion", 1.002, 0.004, kEquivalent)};
  conclude_pairs(suspects, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, kEquivalent);
  EXPECT_DOUBLE_EQ(*comparison.metrics[0].ratio, 1.002);
  EXPECT_THAT(comparison.metrics[0].reason, HasSubstr("the runs show no ratio: the host was"));
}

TEST(Confirmation, pairs_confirm_what_the_software_did) {
  using enum ComparisonVerdict;
  const PairedConfirmation::Suspects suspects{{kModelM}, {{"m|1|f32", "fusion"}}, {}};
  PairedConfirmation pairs{12, 12, false, {}};
  pairs.metrics = {pair_of("m|1|f32", "fusion", 1.05, 0.01, kRegressed)};
  RunComparison comparison = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.01)});
  comparison.metrics[0].verdict = kEquivalent;
  conclude_pairs(suspects, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, kRegressed);
  EXPECT_EQ(comparison.metrics[0].confirmed, true);

  pairs.drifted = true;  // then the pairs are no evidence
  comparison = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.09)});
  conclude_pairs(suspects, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, kInconclusive);

  pairs = {12, 12, false, {pair_of("m|1|f32", "fusion", 1.0, 0.2, kInconclusive)}};
  comparison = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.09)});
  conclude_pairs(suspects, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, kInconclusive) << "its interval is wider than the margin of runs";
}

/// Rounds in which one model has been measured in pairs with these ratios.
RoundComparison rounds_of(std::initializer_list<double> ratios) {
  RoundComparison rounds;
  rounds.models.push_back(pair_of("m|1|f32", "fusion", 1.0, 0.1, ComparisonVerdict::kInconclusive));
  rounds.models[0].baseline_seconds.assign(ratios.size(), 2.0);
  for (const double ratio : ratios) {
    rounds.models[0].candidate_seconds.push_back(2.0 * ratio);
  }
  return rounds;
}

TEST(Confirmation, a_glance_clears_what_the_runs_call_equal) {
  const results::ModelMode mode{"m|1|f32", "fusion"};
  const PairedConfirmation::Suspects equal{{kModelM}, {mode}, {}, {mode}};
  const PairedConfirmation::Suspects doubtful{{kModelM}, {mode}, {}, {}};
  EXPECT_THAT(cleared_at_glance(equal, rounds_of({1.004, 0.998})), ElementsAre(mode));
  EXPECT_THAT(cleared_at_glance(equal, rounds_of({1.03, 0.98})), ElementsAre(mode)) << "+0.5 %";
  EXPECT_THAT(cleared_at_glance(equal, rounds_of({1.03, 1.0})), IsEmpty());
  EXPECT_THAT(cleared_at_glance(equal, rounds_of({0.99})), IsEmpty()) << "one pair is none";
  EXPECT_THAT(cleared_at_glance(doubtful, rounds_of({0.99, 0.99})), IsEmpty());
  RoundComparison broken = rounds_of({1.0, 1.0});
  broken.models[0].test.verdict = ComparisonVerdict::kBroken;
  EXPECT_THAT(cleared_at_glance(equal, broken), IsEmpty());
}

TEST(Confirmation, only_what_the_runs_call_equal_may_be_cleared_at_a_glance) {
  using enum ComparisonVerdict;
  const ResultSet none({});
  const RunComparison::Side candidate{none, {}, executions_with(0.05)};
  for (const ComparisonVerdict verdict : {kEquivalent, kInconclusive, kRegressed}) {
    MetricComparison slower = metric_of(kModelM, MetricKind::kEndToEnd, 1.02);
    slower.verdict = verdict;
    const PairedConfirmation::Suspects suspects = find_suspects(
        comparison_of({slower}), candidate, PairedConfirmation::Suspects::Rule::kSlower);
    EXPECT_EQ(suspects.models.size(), 1U);
    EXPECT_EQ(suspects.equal.size(), verdict == kEquivalent ? 1U : 0U);
  }
}

TEST(Confirmation, what_a_glance_cleared_stays_as_the_runs_have_it) {
  const results::ModelMode mode{"m|1|f32", "fusion"};
  RunComparison comparison = comparison_of({metric_of(kModelM, MetricKind::kEndToEnd, 1.012)});
  comparison.metrics[0].verdict = ComparisonVerdict::kEquivalent;
  PairedConfirmation pairs{2, 2, false, rounds_of({1.004, 0.998}).models};
  pairs.metrics[0].decided_at = kGlancePairs;
  conclude_pairs({{kModelM}, {mode}, {}, {mode}}, pairs, {}, comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_DOUBLE_EQ(*comparison.metrics[0].ratio, 1.012);
  EXPECT_EQ(
      comparison.metrics[0].reason,
      "the runs differ by +1.2 %, 2 pairs of processes beside the baseline's stack by +0.1 %");
}

TEST(Confirmation, is_kept_and_read_again) {
  const PairedConfirmation pairs{
      13, 12, true, {pair_of("m|1|f32", "fusion", 1.05, 0.01, ComparisonVerdict::kRegressed)}};
  const PairedConfirmation read = paired_confirmation_from_json(to_json(pairs));
  EXPECT_EQ(read.rounds, 13U);
  EXPECT_EQ(read.valid, 12U);
  EXPECT_TRUE(read.drifted);
  ASSERT_EQ(read.metrics.size(), 1U);
  EXPECT_DOUBLE_EQ(*read.metrics[0].test.ratio, 1.05);
  EXPECT_EQ(read.metrics[0].baseline_seconds.size(), 12U);
  EXPECT_THROW(static_cast<void>(paired_confirmation_from_json("{}")), Error);
}

}  // namespace
}  // namespace plumb::analysis
