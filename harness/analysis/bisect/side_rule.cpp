// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bisect/side_rule.hpp"

#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stats/alpha_spending.hpp"
#include "harness/stats/student_t.hpp"

namespace plumb::analysis {
namespace {

std::vector<double> information_at(const std::vector<std::size_t>& looks) {
  std::vector<double> information;
  information.reserve(looks.size());
  for (const std::size_t look : looks) {
    information.push_back(static_cast<double>(look) / static_cast<double>(looks.back()));
  }
  return information;
}

std::vector<double> first_of(const std::vector<double>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

SideRule::SideRule(std::vector<std::size_t> looks) : looks_(std::move(looks)) {
  PLUMB_CHECK(!looks_.empty());
  tails_ = stats::spending_limits(information_at(looks_), kSideTail);
}

ChangeSide SideRule::judge(const PairedSamples& pairs, double change) const {
  PLUMB_CHECK(change > 1.0);
  const double limit = std::log(change) / 2.0;
  for (std::size_t look = 0; look < looks_.size(); ++look) {
    const std::size_t count = looks_[look];
    if (pairs.baseline.size() < count || pairs.candidate.size() < count) {
      break;
    }
    const PairedMetric metric = paired_metric(
        {pairs.name, first_of(pairs.baseline, count), first_of(pairs.candidate, count)}, "");
    if (!metric.log_ratio) {
      break;
    }
    const stats::TrimmedMean& sample = *metric.log_ratio;
    const double reach = stats::t_quantile(1.0 - tails_[look], sample.freedom) *
                         std::sqrt(sample.variance / sample.kept);
    if (sample.mean - reach > limit) {
      return ChangeSide::kAfter;
    }
    if (sample.mean + reach < limit) {
      return ChangeSide::kBefore;
    }
  }
  return ChangeSide::kOpen;
}

bool estimate_change(const PairedSamples& pairs, MetricComparison& metric) {
  const PairedMetric all = paired_metric(pairs, "");
  if (!all.log_ratio) {
    return false;
  }
  metric.baseline = all.result.baseline;
  metric.candidate = all.result.candidate;
  metric.delta = all.result.delta;
  metric.error = all.result.error;
  test_change(metric, *all.log_ratio, kSideTail);
  constexpr double kPart = 4.0;
  return std::log(metric.high / *metric.ratio) <= std::log(*metric.ratio) / kPart;
}

SequentialDesign search_design(std::size_t pairs) {
  SequentialDesign design = design_for(pairs);
  for (std::size_t times = 2; times <= kLongerPairs; times *= 2) {
    design.looks.push_back(times * pairs);
  }
  return design;
}

}  // namespace plumb::analysis
