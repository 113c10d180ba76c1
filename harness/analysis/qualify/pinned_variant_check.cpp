// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/qualify/pinned_variant_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/analysis/compare/implementation_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kLevel = 0.05;
constexpr double kShare = 0.5;  // of the regression that makes a time as slow

/// What a test says of "at least half of the regression shows in it".
enum class Shown { kYes, kNo, kUndecided };

std::optional<MetricComparison> tested(const PairedSamples& samples, MetricKind kind) {
  PairedMetric metric = paired_metric(samples, samples.name, kind);
  if (!metric.log_ratio) {
    return std::nullopt;
  }
  metric.result.q = test_change(metric.result, *metric.log_ratio, kLevel);
  return std::move(metric.result);
}

/// Decides whether a test shows at least half of a regression, on the logarithm. The whole interval
/// must lie on one side of that half.
Shown shown(const MetricComparison& test, const MetricComparison& regression) {
  const double half = std::pow(*regression.ratio, kShare);
  return test.low >= half ? Shown::kYes : test.high < half ? Shown::kNo : Shown::kUndecided;
}

ReplayFinding finding_of(Shown slower, bool same_choice) {
  switch (slower) {
    case Shown::kYes:
      return ReplayFinding::kKernelChanged;
    case Shown::kNo:
      return same_choice ? ReplayFinding::kNotSeenAgain : ReplayFinding::kHeuristicChanged;
    case Shown::kUndecided:
      break;
  }
  return ReplayFinding::kUndecided;
}

BoundChange bound_of(Shown slower) {
  return slower == Shown::kYes  ? BoundChange::kCapabilityLost
         : slower == Shown::kNo ? BoundChange::kChoiceOnly
                                : BoundChange::kUndecided;
}

std::string change(const MetricComparison& test) {
  return fmt::format("{:+.1f}% ({:+.1f}% to {:+.1f}%)",
                     100.0 * (*test.ratio - 1.0),
                     100.0 * (test.low - 1.0),
                     100.0 * (test.high - 1.0));
}

}  // namespace

std::string same_variant(const std::string& chosen, const std::vector<std::string>& variants) {
  if (std::find(variants.begin(), variants.end(), chosen) != variants.end()) {
    return chosen;
  }
  const ImplementationName name = implementation_name(chosen);
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    return implementation_name(variant) == name;
  });
  return found != variants.end() ? *found : "";
}

PinnedVariantCheck judge_replay(const ReplayTimes& times, const MetricComparison& regression) {
  PinnedVariantCheck result;
  result.replayed_variant = times.replayed;
  result.baseline_best = times.baseline_best;
  result.candidate_best = times.candidate_best;
  result.replay = tested(times.replay, MetricKind::kReplay);
  result.best = tested(times.best, MetricKind::kCapability);
  if (times.replayed.empty()) {
    result.finding = ReplayFinding::kRemoved;
    result.evidence = fmt::format("the candidate has no '{}'", times.chosen);
  } else if (result.replay && regression.ratio) {
    result.finding =
        finding_of(shown(*result.replay, regression), times.replayed == times.candidate_chosen);
    result.evidence =
        fmt::format("'{}' is still there and takes {}", times.replayed, change(*result.replay));
  } else {
    result.evidence = "the baseline's implementation was not timed on both sides";
  }
  if (result.best && regression.ratio) {
    result.bound = bound_of(shown(*result.best, regression));
    result.evidence += fmt::format("; the fastest variants differ by {}: '{}' and '{}'",
                                   change(*result.best),
                                   times.baseline_best,
                                   times.candidate_best);
  }
  return result;
}

}  // namespace plumb::analysis
