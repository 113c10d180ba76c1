// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/run_comparison.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/support/result_rows.hpp"

namespace plumb::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Makes a run of twelve layers, each raced by two variants; both confirmed half a percent slower
/// or faster than at first.
class RunBuilder {
 public:
  using Edit = std::function<void(int layer, results::Measurement& row)>;

  explicit RunBuilder(const Edit& edit = {}) {
    for (int layer = 1; layer <= kLayers; ++layer) {
      for (const results::Purpose purpose : {results::Purpose::kFull, results::Purpose::kConfirm}) {
        const double off =
            purpose == results::Purpose::kFull ? 1.0 : 1.0 + (layer % 2 == 0 ? 0.005 : -0.005);
        add(layer, "impl=choice", 1000.0 * layer * off, purpose, edit);
        add(layer, "impl=other", 1500.0 * layer * off, purpose, edit);
      }
    }
  }

  [[nodiscard]] ResultSet results() const { return ResultSet(rows_); }

  static constexpr int kLayers = 12;

 private:
  void add(int layer,
           const std::string& variant,
           double time,
           results::Purpose purpose,
           const Edit& edit) {
    results::Measurement row = test::row(test::key(layer), time, variant, purpose);
    row.floor = Seconds(0.0);
    row.library_choice = variant == "impl=choice";
    row.summary.interval = {row.summary.median * 0.999, row.summary.median * 1.001};
    if (edit) {
      edit(layer, row);
    }
    rows_.push_back({.row = static_cast<results::RowId>(rows_.size() + 1),
                     .run = "r",
                     .reused = false,
                     .measurement = row});
  }

  std::vector<results::StoredMeasurement> rows_;
};

void slow_down(results::Measurement& row, double factor) {
  row.summary.median *= factor;
  row.summary.interval = {row.summary.interval.low * factor, row.summary.interval.high * factor};
}

RunComparison compare(const RunBuilder::Edit& edit) {
  const ResultSet baseline = RunBuilder().results();
  const ResultSet candidate = RunBuilder(edit).results();
  return compare_runs({baseline, {}}, {candidate, {}}, {}, {});
}

TEST(RunComparison, the_deviation_between_processes_comes_from_confirmed_variants) {
  const ResultSet results = RunBuilder().results();
  const ProcessDeviation deviation = process_deviation(results.rows());
  EXPECT_EQ(deviation.pairs, 24U);
  EXPECT_NEAR(deviation.relative, 1.4826 * 0.005 / std::sqrt(2.0), 1e-4);
  EXPECT_EQ(process_deviation({}).relative, kAssumedProcessDeviation);
}

TEST(RunComparison, equal_runs_are_equivalent) {
  const RunComparison same = compare({});
  EXPECT_EQ(same.verdict, ComparisonVerdict::kEquivalent);
  ASSERT_EQ(same.metrics.size(), static_cast<std::size_t>(RunBuilder::kLayers));
  for (const MetricComparison& metric : same.metrics) {
    EXPECT_EQ(metric.verdict, ComparisonVerdict::kEquivalent);
    EXPECT_DOUBLE_EQ(*metric.ratio, 1.0);
    EXPECT_THAT(metric.causes, IsEmpty());
  }
}

TEST(RunComparison, a_slower_layer_is_listed_first_with_its_cause) {
  const RunComparison slower = compare([](int layer, results::Measurement& row) {
    if (layer == 3) {
      slow_down(row, 1.2);
    }
  });
  EXPECT_EQ(slower.verdict, ComparisonVerdict::kRegressed);
  const MetricComparison& first = slower.metrics.front();
  EXPECT_EQ(first.series, "layers/" + test::key(3).text);
  EXPECT_NEAR(*first.ratio, 1.2, 1e-9);
  EXPECT_LT(*first.q, 0.05);
  ASSERT_EQ(first.causes.size(), 1U);
  EXPECT_EQ(first.causes[0].cause, "capability changed");
  EXPECT_NEAR(first.causes[0].share, 1.0, 1e-9);
  EXPECT_EQ(slower.metrics[1].verdict, ComparisonVerdict::kEquivalent);
}

TEST(RunComparison, a_calibrated_floor_takes_the_place_of_the_assumed_one) {
  const ResultSet baseline = RunBuilder().results();
  const ResultSet candidate = RunBuilder([](int layer, results::Measurement& row) {
                                if (layer <= 2) {
                                  slow_down(row, 1.1);
                                }
                              }).results();
  CalibratedFloors floors;
  floors.series["layers/" + test::key(1).text] = {.process = 0.05, .floor = 0.15};
  std::map<std::string, MetricComparison> metrics;
  for (MetricComparison& metric :
       compare_runs({baseline, {}}, {candidate, {}}, floors, {}).metrics) {
    metrics[metric.series] = metric;
  }
  const MetricComparison& noisy = metrics.at("layers/" + test::key(1).text);
  EXPECT_EQ(noisy.verdict, ComparisonVerdict::kEquivalent)
      << "it differs by that between processes";
  EXPECT_DOUBLE_EQ(noisy.floor->relative, 0.15);
  EXPECT_EQ(noisy.floor->source, MetricComparison::Floor::Source::kCalibrated);
  const MetricComparison& other = metrics.at("layers/" + test::key(2).text);
  EXPECT_EQ(other.verdict, ComparisonVerdict::kRegressed);
  EXPECT_DOUBLE_EQ(other.floor->relative, 0.02) << "three deviations of 0.52 % are less";
  EXPECT_EQ(other.floor->source, MetricComparison::Floor::Source::kAssumed);
}

TEST(RunComparison, floors_of_two_environments_are_joined_by_the_larger) {
  CalibratedFloors floors{
      .series = {{"a", {0.01, 0.03}}, {"b", {0.01, 0.03}}}, .runs = {"r2"}, .learned = {}};
  floors.join(
      {.series = {{"b", {0.02, 0.06}}, {"c", {0.0, 0.02}}}, .runs = {"r1", "r2"}, .learned = {}});
  EXPECT_EQ(floors.series.size(), 3U);
  EXPECT_DOUBLE_EQ(floors.series.at("a").floor, 0.03);
  EXPECT_DOUBLE_EQ(floors.series.at("b").floor, 0.06);
  EXPECT_DOUBLE_EQ(floors.series.at("b").process, 0.02);
  EXPECT_THAT(floors.runs, ElementsAre("r1", "r2"));
  EXPECT_DOUBLE_EQ(layer_floor(floors, "c", 0.05, 0.1).relative, 0.05) << "the user's";
  EXPECT_DOUBLE_EQ(layer_floor(floors, "d", 0.0, 0.1).relative, 0.3) << "three deviations";
}

results::Execution executed(double seconds,
                            const std::vector<std::pair<model::LayerKey, double>>& layers) {
  results::Execution execution;
  execution.mode = "plain";
  const Seconds median(seconds);
  execution.row.summary = {30, median, {median, median}, median, median, median, true};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    results::Execution::Layer& layer = execution.layers.emplace_back();
    layer.layers = {i};
    layer.key = layers[i].first;
    layer.variant = "impl=jit:avx2";
    layer.seconds = Seconds(layers[i].second);
  }
  return execution;
}

TEST(RunComparison, a_model_s_change_is_split_over_its_layers_and_the_rest_is_unexplained) {
  const ResultSet results = RunBuilder().results();
  const model::LayerKey first = test::key(1);
  const model::LayerKey second = test::key(2);
  const model::LayerKey gone = test::key(3);
  const model::LayerKey fused = test::key(4);
  results::Execution after = executed(13.5e-3, {{first, 4e-3}, {second, 5e-3}, {fused, 3e-3}});
  after.layers[0].reorder = Seconds(0.5e-3);
  ExecutionTime before_time;
  before_time.mode = "plain";
  before_time.scenario = loadgen::ScenarioName::kSingleStream;
  before_time.samples = 30;
  before_time.median = Seconds(10e-3);
  before_time.interval = {before_time.median, before_time.median};
  ModelBounds before;
  before.instance = {"m", 1, "f32"};
  before.executions = {before_time};
  ModelBounds later = before;
  later.executions[0].median = Seconds(13.5e-3);
  later.executions[0].interval = {Seconds(13.5e-3), Seconds(13.5e-3)};
  const RunComparison found = compare_runs(
      {results,
       {&before, 1},
       {{"m|1|f32", {executed(10e-3, {{first, 2e-3}, {second, 5e-3}, {gone, 2e-3}})}}}},
      {results, {&later, 1}, {{"m|1|f32", {after}}}},
      {},
      {});
  ASSERT_EQ(found.attributions.size(), 1U);
  const RunComparison::Attribution& split = found.attributions[0];
  EXPECT_NEAR(split.delta_seconds, 3.5e-3, 1e-12);
  EXPECT_NEAR(split.delta_error, found.deviation.relative * std::hypot(10e-3, 13.5e-3), 1e-9);
  ASSERT_EQ(split.layers.size(), 2U);
  EXPECT_EQ(split.layers[0].layer, first.text);
  EXPECT_NEAR(split.layers[0].seconds, 2e-3, 1e-12);
  EXPECT_NEAR(split.unmatched_seconds, 1e-3, 1e-12) << "one was fused into another";
  EXPECT_NEAR(split.reorder_seconds, 0.5e-3, 1e-12);
  EXPECT_NEAR(split.unexplained_seconds, 0.0, 1e-12);
  EXPECT_GT(split.unexplained_error, split.delta_error) << "all terms are uncertain";
  const MetricComparison& slow = found.metrics.front();
  EXPECT_EQ(slow.verdict, ComparisonVerdict::kRegressed);
  ASSERT_GE(slow.causes.size(), 3U);
  EXPECT_EQ(slow.causes[0].cause, "layer " + first.text);
  EXPECT_NEAR(slow.causes[0].share, 2.0 / 3.5, 1e-9);
}

TEST(RunComparison, one_cause_over_many_layers_is_one_finding) {
  const RunComparison slower = compare([](int layer, results::Measurement& row) {
    if (layer == 3 || layer == 5) {
      slow_down(row, 1.2);
    }
  });
  ASSERT_EQ(slower.findings.size(), 1U);
  EXPECT_EQ(slower.findings[0].layers.size(), 2U);
  EXPECT_THAT(slower.findings[0].cause, HasSubstr("the same implementation is slower"));
  EXPECT_THAT(slower.findings[0].evidence, HasSubstr("capability changed"));
  EXPECT_THAT(compare({}).findings, IsEmpty());
}

TEST(RunComparison, a_worse_choice_is_told_from_lost_capability) {
  const RunComparison slower = compare([](int layer, results::Measurement& row) {
    if (layer == 3) {
      row.library_choice = !row.library_choice;
    }
  });
  const MetricComparison& first = slower.metrics.front();
  EXPECT_NEAR(*first.ratio, 1.5, 1e-9);
  ASSERT_EQ(first.causes.size(), 2U);
  EXPECT_EQ(first.causes[0].cause, "implementation changed");
  EXPECT_THAT(first.causes[0].evidence, HasSubstr("impl=choice → impl=other"));
  EXPECT_EQ(first.causes[1].cause, "choice only (heuristic)");
  EXPECT_NEAR(first.causes[1].share, 1.0, 1e-9);
}

TEST(RunComparison, what_no_longer_works_is_broken_and_listed_first) {
  const RunComparison broken = compare([](int layer, results::Measurement& row) {
    if (layer == 2) {
      slow_down(row, 1.5);
    }
    if (layer == 5) {
      row.outcome = {results::Outcome::Kind::kWrongResult, "differs by 3"};
    }
    if (layer == 7) {
      row.reference_implementation = true;
    }
  });
  EXPECT_EQ(broken.verdict, ComparisonVerdict::kBroken);
  EXPECT_EQ(broken.metrics[0].verdict, ComparisonVerdict::kBroken);
  EXPECT_EQ(broken.metrics[1].verdict, ComparisonVerdict::kBroken);
  EXPECT_EQ(broken.metrics[2].verdict, ComparisonVerdict::kRegressed);
  EXPECT_THAT(broken.metrics[0].reason + broken.metrics[1].reason,
              HasSubstr("wrong_result: differs by 3"));
  EXPECT_THAT(broken.metrics[0].reason + broken.metrics[1].reason,
              HasSubstr("fell back to a reference"));
}

TEST(RunComparison, what_was_not_measured_or_disturbed_is_inconclusive) {
  const RunComparison open = compare([](int layer, results::Measurement& row) {
    if (layer == 4) {
      row.disturbance.disturbed = true;
      slow_down(row, 2.0);
    }
    if (layer == 6) {
      row.outcome = {results::Outcome::Kind::kSkipped, "the budget ended"};
    }
  });
  EXPECT_EQ(open.verdict, ComparisonVerdict::kInconclusive);
  std::vector<std::string> reasons;
  for (const MetricComparison& metric : open.metrics) {
    if (metric.verdict == ComparisonVerdict::kInconclusive) {
      reasons.push_back(metric.reason);
    }
  }
  EXPECT_THAT(
      reasons,
      ElementsAre(HasSubstr("disturbed during the candidate"), HasSubstr("the budget ended")));
}

TEST(RunComparison, one_sample_gives_a_ratio_and_no_interval) {
  const RunComparison open = compare([](int layer, results::Measurement& row) {
    if (layer == 4) {
      slow_down(row, 1.5);
      row.summary.n = 1;
      row.purpose = results::Purpose::kFull;
    }
  });
  const auto metric = std::find_if(open.metrics.begin(), open.metrics.end(), [](const auto& each) {
    return each.verdict == ComparisonVerdict::kInconclusive;
  });
  ASSERT_NE(metric, open.metrics.end());
  EXPECT_EQ(metric->series, "layers/" + test::key(4).text);
  EXPECT_NEAR(*metric->ratio, 1.5, 0.01);
  EXPECT_FALSE(metric->has_interval);
  EXPECT_FALSE(metric->p.has_value() || metric->q.has_value() || metric->mde.has_value());
  EXPECT_EQ(metric->reason, "only one sample in the candidate, so its noise is not known");
}

RunComparison compare_failures(const results::Outcome& before, const results::Outcome& after) {
  const auto failing = [](const results::Outcome& outcome) {
    return RunBuilder([&](int layer, results::Measurement& row) {
             if (layer == 6) {
               row.outcome = outcome;
             }
           })
        .results();
  };
  return compare_runs({failing(before), {}}, {failing(after), {}}, {}, {});
}

TEST(RunComparison, what_failed_alike_in_both_decides_nothing) {
  using Kind = results::Outcome::Kind;
  for (const auto& [before, after] :
       {std::pair(results::Outcome{Kind::kUnsupported, "no kernel"},
                  results::Outcome{Kind::kUnsupported, "no kernel"}),
        std::pair(results::Outcome{Kind::kCrashed, "signal 11 at 0x7f31, after 3.2 s"},
                  results::Outcome{Kind::kCrashed, "signal 11 at 0x7a99, after 3.4 s"}),
        std::pair(results::Outcome{Kind::kSkipped, ""}, results::Outcome{Kind::kSkipped, ""})}) {
    const RunComparison same = compare_failures(before, after);
    EXPECT_EQ(same.verdict, ComparisonVerdict::kEquivalent) << before.reason;
    EXPECT_EQ(same.metrics.size(), static_cast<std::size_t>(RunBuilder::kLayers - 1));
    ASSERT_EQ(same.not_compared.size(), 1U);
    EXPECT_EQ(same.not_compared[0].series, "layers/" + test::key(6).text);
    EXPECT_EQ(same.not_compared[0].candidate, after);
  }
}

TEST(RunComparison, another_kind_of_failure_is_a_change) {
  using Kind = results::Outcome::Kind;
  const RunComparison crashes =
      compare_failures({Kind::kUnsupported, "no kernel"}, {Kind::kCrashed, "signal 11"});
  EXPECT_EQ(crashes.verdict, ComparisonVerdict::kBroken);
  EXPECT_EQ(
      crashes.metrics.front().reason,
      "failed in both runs, but in different ways: unsupported: no kernel; now crashed: signal 11");
  for (const results::Outcome& milder : {results::Outcome{Kind::kUnsupported, "no kernel"},
                                         results::Outcome{Kind::kCrashed, "heap corruption"}}) {
    const RunComparison other = compare_failures({Kind::kCrashed, "signal 11"}, milder);
    EXPECT_EQ(other.verdict, ComparisonVerdict::kInconclusive) << milder.reason;
    EXPECT_THAT(other.not_compared, IsEmpty());
  }
}

TEST(RunComparison, the_geometric_mean_sums_up_what_decides) {
  const RunComparison mixed = compare(
      [](int layer, results::Measurement& row) { slow_down(row, layer % 3 == 0 ? 0.5 : 2.0); });
  ASSERT_TRUE(mixed.overall.has_value());
  EXPECT_EQ(mixed.overall->metrics, 12U);
  EXPECT_EQ(mixed.overall->slower, 8U);
  EXPECT_EQ(mixed.overall->faster, 4U);
  EXPECT_NEAR(*mixed.overall->metric.ratio, std::exp2(4.0 / 12.0), 1e-9) << "by hand";
  // ln 2 times the deviation of eight +1 and four −1, and the deviation of two runs.
  const double of_metrics = std::log(2.0) * std::sqrt((12.0 - 16.0 / 12.0) / 11.0 / 12.0);
  const double error = std::sqrt(of_metrics * of_metrics + 2.0 * 0.009 * 0.009);
  EXPECT_NEAR(
      std::log(mixed.overall->metric.high / *mixed.overall->metric.ratio) / error, 2.201, 0.01)
      << "Student, 11 degrees";
  EXPECT_EQ(mixed.overall->metric.verdict, ComparisonVerdict::kInconclusive);
  const RunComparison slower = compare([](int, results::Measurement& row) { slow_down(row, 1.2); });
  EXPECT_EQ(slower.overall->metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(compare({}).overall->metric.verdict, ComparisonVerdict::kEquivalent);
}

TEST(RunComparison, changes_below_the_floor_are_none) {
  const RunComparison small = compare([](int layer, results::Measurement& row) {
    if (layer == 3) {
      slow_down(row, 1.015);
    }
  });
  EXPECT_NE(small.verdict, ComparisonVerdict::kRegressed);
}

TEST(RunComparison, restarted_processes_speak_for_themselves) {
  const auto side = [](std::initializer_list<double> times) {
    std::vector<results::StoredMeasurement> rows;
    for (const double time : times) {
      results::Measurement row = test::row(test::key(1), time, "external");
      row.floor = Seconds(0.0);
      row.library_choice = true;
      row.process = static_cast<std::int64_t>(rows.size());
      rows.push_back({.row = static_cast<results::RowId>(rows.size() + 1),
                      .run = "r",
                      .reused = false,
                      .measurement = row});
    }
    return ResultSet(rows);
  };
  const ResultSet base = side({100.0, 100.4, 99.6, 100.2, 99.8});
  const ResultSet slower = side({104.0, 104.4, 103.6, 104.2, 103.8});
  const RunComparison changed = compare_runs({base, {}}, {slower, {}}, {}, {});
  ASSERT_EQ(changed.metrics.size(), 1U);
  EXPECT_EQ(changed.metrics[0].verdict, ComparisonVerdict::kRegressed);
  EXPECT_NEAR(*changed.metrics[0].ratio, 1.04, 1e-3);
  EXPECT_TRUE(changed.metrics[0].decides) << "a run without models is judged by its layers";
  // The same medians from processes that differ by as much as the change: nothing can be said.
  const RunComparison open =
      compare_runs({side({100.0, 125.0, 80.0}), {}}, {side({110.0, 85.0, 140.0}), {}}, {}, {});
  EXPECT_EQ(open.metrics[0].verdict, ComparisonVerdict::kInconclusive);
  EXPECT_GT(open.metrics[0].high - open.metrics[0].low, 0.1);
}

TEST(RunComparison, times_are_withheld_and_what_is_broken_stays) {
  RunComparison comparison = compare([](int layer, results::Measurement& row) {
    if (layer == 1) {
      row.outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
      row.summary = {};
    } else {
      slow_down(row, 1.5);
    }
  });
  const auto count = [&](ComparisonVerdict verdict) {
    return std::count_if(comparison.metrics.begin(),
                         comparison.metrics.end(),
                         [&](const auto& metric) { return metric.verdict == verdict; });
  };
  ASSERT_EQ(count(ComparisonVerdict::kRegressed), RunBuilder::kLayers - 1);
  ASSERT_EQ(count(ComparisonVerdict::kBroken), 1);
  withhold_times("the machine changed", comparison);
  EXPECT_EQ(count(ComparisonVerdict::kRegressed), 0);
  EXPECT_EQ(count(ComparisonVerdict::kBroken), 1);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(comparison.findings, IsEmpty());
  EXPECT_EQ(comparison.metrics.back().reason, "the machine changed");
  EXPECT_TRUE(comparison.metrics.back().ratio) << "the numbers are still told";
  EXPECT_EQ(comparison.overall->metric.verdict, ComparisonVerdict::kInconclusive);
}

}  // namespace
}  // namespace plumb::analysis
