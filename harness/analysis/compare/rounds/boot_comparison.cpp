// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/boot_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {
namespace {

constexpr const char* kControlSeries = "control";

/// Means over the runs of each boot.
class BootMeans {
 public:
  void add(const std::string& boot, double value) {
    auto& [sum, count] = sums_[boot];
    sum += value;
    ++count;
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> result;
    for (const auto& [boot, mean] : sums_) {
      result.push_back(mean.first / static_cast<double>(mean.second));
    }
    return result;
  }

 private:
  std::map<std::string, std::pair<double, std::size_t>> sums_;
};

/// Returns ln(time ÷ control · scale) of each boot that timed a series.
std::vector<double> scaled_logs(std::span<const BootComparison::Run> runs,
                                const std::string& series,
                                double scale) {
  BootMeans means;
  for (const BootComparison::Run& run : runs) {
    if (const auto time = run.times.find(series); time != run.times.end()) {
      means.add(run.boot, std::log(time->second / run.control * scale));
    }
  }
  return means.values();
}

std::vector<double> control_logs(std::span<const BootComparison::Run> runs) {
  BootMeans means;
  for (const BootComparison::Run& run : runs) {
    means.add(run.boot, std::log(run.control));
  }
  return means.values();
}

MetricKind kind_of(const std::string& series) {
  const results::SeriesName::Kind kind = results::parse_series(series).kind;
  return kind == results::SeriesName::Kind::kLayer      ? MetricKind::kLayer
         : kind == results::SeriesName::Kind::kEndToEnd ? MetricKind::kEndToEnd
                                                        : MetricKind::kBound;
}

/// Returns why a side's boots have no time of a series: the first run's reason. Absent unless every
/// run of the side has a reason.
std::optional<std::string> refusal_in_all(std::span<const BootComparison::Run> runs,
                                          const std::string& series) {
  const bool all = !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const auto& run) {
    return run.failures.contains(series);
  });
  return all ? std::optional(runs.front().failures.at(series)) : std::nullopt;
}

/// Series and its p-value before the correction of the family.
struct SeriesTest {
  MetricComparison metric;
  std::optional<double> p;
};

/// Comparison of two sets of boots in progress.
class Comparing {
 public:
  Comparing(std::span<const BootComparison::Run> baseline,
            std::span<const BootComparison::Run> candidate,
            const CalibratedFloors& floors,
            const ComparisonLimits& limits)
      : baseline_(baseline), candidate_(candidate), floors_(floors), limits_(limits) {}

  BootComparison compare() {
    result_.baseline = group_by_boot(baseline_);
    result_.candidate = group_by_boot(candidate_);
    compare_controls();
    std::set<std::string> names;
    for (const auto& side : {baseline_, candidate_}) {
      for (const BootComparison::Run& run : side) {
        for (const auto& [series, time] : run.times) {
          names.insert(series);
        }
      }
    }
    std::vector<SeriesTest> tests;
    tests.reserve(names.size());
    for (const std::string& series : names) {
      tests.push_back(test(series));
    }
    conclude(tests);
    for (SeriesTest& each : tests) {
      result_.metrics.push_back(std::move(each.metric));
    }
    std::vector<MetricComparison*> all;
    for (MetricComparison& metric : result_.metrics) {
      all.push_back(&metric);
    }
    choose_what_decides(all);
    for (MetricComparison* const metric : all) {
      // Five boots per side are enough evidence for a single layer.
      metric->decides = metric->decides || metric->verdict == ComparisonVerdict::kRegressed;
    }
    result_.verdict = verdict_of_all(result_.metrics);
    put_changes_first(result_.metrics);
    return std::move(result_);
  }

 private:
  void compare_controls() {
    const std::vector<double> before = control_logs(baseline_);
    const std::vector<double> after = control_logs(candidate_);
    double sum = 0.0;
    for (const auto& side : {before, after}) {
      for (const double value : side) {
        sum += value;
      }
    }
    result_.control = std::exp(sum / static_cast<double>(before.size() + after.size()));
    MetricComparison control;
    control.series = kControlSeries;
    control.kind = MetricKind::kControl;
    control.reason = "the machine's control, by which the other metrics are divided";
    if (std::min(before.size(), after.size()) >= kMinProcesses) {
      control.q = test_processes(control, before, after, limits_.alpha);
    }
    result_.metrics.push_back(std::move(control));
  }

  SeriesTest test(const std::string& series) {
    SeriesTest test;
    test.metric.series = series;
    test.metric.kind = kind_of(series);
    if (test.metric.kind != MetricKind::kLayer) {
      const std::size_t begin = series.find('/') + 1;
      test.metric.model = series.substr(begin, series.find('/', begin) - begin);
    }
    const std::vector<double> before = scaled_logs(baseline_, series, result_.control);
    const std::vector<double> after = scaled_logs(candidate_, series, result_.control);
    const std::optional<std::string> refusal = refusal_in_all(candidate_, series);
    if (refusal && before.size() == result_.baseline.size()) {
      test.metric.verdict = ComparisonVerdict::kBroken;
      test.metric.reason = "worked before, and now " + *refusal;
    } else if (std::min(before.size(), after.size()) < kMinBoots) {
      test.metric.reason = fmt::format(
          "timed in {} boots of the baseline and {} of the candidate, but at least {} are needed "
          "to show a change",
          before.size(),
          after.size(),
          kMinBoots);
    } else {
      test.p = test_processes(test.metric, before, after, limits_.alpha);
    }
    return test;
  }

  /// Judges the layers as one family, and every model alone.
  void conclude(std::vector<SeriesTest>& tests) const {
    std::vector<MetricComparison::FamilyMember> layers;
    for (SeriesTest& each : tests) {
      if (!each.p) {
        continue;
      }
      MetricComparison& metric = each.metric;
      const bool layer = metric.kind == MetricKind::kLayer;
      metric.floor =
          layer ? layer_floor(floors_, metric.series, limits_.layer_floor, 0.0)
                : MetricComparison::Floor{std::max(limits_.end_to_end_floor, kEndToEndFloor),
                                          MetricComparison::Floor::Source::kFixed};
      ComparisonLimits::Change limits = layer ? limits_.of_layer() : limits_.of_model();
      limits.floor = metric.floor->relative;
      if (layer) {
        layers.push_back({&metric, *each.p, limits});
      } else {
        judge_alone(metric, *each.p, limits);
      }
    }
    judge_family(layers);
  }

  std::span<const BootComparison::Run> baseline_;
  std::span<const BootComparison::Run> candidate_;
  const CalibratedFloors& floors_;
  const ComparisonLimits& limits_;
  BootComparison result_;
};

}  // namespace

std::vector<BootComparison::Boot> group_by_boot(std::span<const BootComparison::Run> runs) {
  std::vector<BootComparison::Boot> boots;
  for (const BootComparison::Run& run : runs) {
    auto found = std::find_if(boots.begin(), boots.end(), [&](const BootComparison::Boot& boot) {
      return boot.id == run.boot;
    });
    if (found == boots.end()) {
      found = boots.insert(boots.end(), {run.boot, {}, 0.0});
    }
    found->runs.push_back(run.run);
    found->control += std::log(run.control);
  }
  for (BootComparison::Boot& boot : boots) {
    boot.control = std::exp(boot.control / static_cast<double>(boot.runs.size()));
  }
  return boots;
}

BootComparison compare_boots(std::span<const BootComparison::Run> baseline,
                             std::span<const BootComparison::Run> candidate,
                             const CalibratedFloors& floors,
                             const ComparisonLimits& limits) {
  return Comparing(baseline, candidate, floors, limits).compare();
}

}  // namespace plumb::analysis
