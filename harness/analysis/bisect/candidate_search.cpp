// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bisect/candidate_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stats/alpha_spending.hpp"
#include "harness/stats/means.hpp"

namespace plumb::analysis {

std::string_view to_text(CandidateState state) {
  switch (state) {
    case CandidateState::kUntested:
      return "untested";
    case CandidateState::kGood:
      return "good";
    case CandidateState::kBad:
      return "bad";
    case CandidateState::kUnknown:
      return "unknown";
    case CandidateState::kSkipped:
      break;
  }
  return "skipped";
}

std::string_view to_text(SearchTask::Purpose purpose) {
  switch (purpose) {
    case SearchTask::Purpose::kEnds:
      return "ends";
    case SearchTask::Purpose::kSearch:
      return "search";
    case SearchTask::Purpose::kConfirmation:
      break;
  }
  return "confirmation";
}

CandidateSearch::CandidateSearch(std::size_t candidates)
    : states_(candidates, CandidateState::kUntested), bad_(candidates - 1) {
  PLUMB_CHECK(candidates >= 2);
  states_.front() = CandidateState::kGood;
}

std::optional<std::size_t> CandidateSearch::middle() const {
  const std::size_t middle = good_ + (bad_ - good_) / 2;
  const auto free = [&](std::size_t candidate) {
    return candidate > good_ && candidate < bad_ && states_[candidate] == CandidateState::kUntested;
  };
  // What is below 0 wraps to a place beyond the line.
  std::vector<std::size_t> distances{0};
  for (std::size_t distance = 1; distance < bad_ - good_; distance *= 2) {
    distances.push_back(distance);
  }
  for (std::size_t distance = 1; distance < bad_ - good_; ++distance) {
    distances.push_back(distance);
  }
  for (const std::size_t distance : distances) {
    for (const std::size_t candidate : {middle + distance, middle - distance}) {
      if (free(candidate)) {
        return candidate;
      }
    }
  }
  return std::nullopt;
}

std::optional<SearchTask> CandidateSearch::next() const {
  if (ends_ == CandidateState::kUntested) {
    return SearchTask{SearchTask::Purpose::kEnds, bad_, 0};
  }
  if (ends_ != CandidateState::kBad || confirmation_ != CandidateState::kUntested) {
    return std::nullopt;
  }
  if (const std::optional<std::size_t> candidate = middle()) {
    return SearchTask{SearchTask::Purpose::kSearch, *candidate, 0};
  }
  return SearchTask{SearchTask::Purpose::kConfirmation, bad_, good_};
}

void CandidateSearch::add(CandidateState state) {
  const std::optional<SearchTask> task = next();
  PLUMB_CHECK(task && state != CandidateState::kUntested);
  switch (task->purpose) {
    case SearchTask::Purpose::kEnds:
      ends_ = states_.back() = state;
      break;
    case SearchTask::Purpose::kConfirmation:
      confirmation_ = state;
      break;
    case SearchTask::Purpose::kSearch:
      states_[task->candidate] = state;
      if (state == CandidateState::kGood) {
        good_ = task->candidate;
      } else if (state == CandidateState::kBad) {
        bad_ = task->candidate;
      }
      break;
  }
}

std::size_t CandidateSearch::left() const {
  if (!next()) {
    return 0;
  }
  const auto between = states_.begin() + static_cast<std::ptrdiff_t>(good_);
  const auto untested = static_cast<std::size_t>(std::count(
      between + 1, states_.begin() + static_cast<std::ptrdiff_t>(bad_), CandidateState::kUntested));
  const auto halvings = static_cast<std::size_t>(std::bit_width(untested));
  return halvings + 1 + (ends_ == CandidateState::kUntested ? 1 : 0);
}

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
