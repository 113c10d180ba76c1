// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bisect/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {

std::string_view to_text(Bisection::Search::State state) {
  switch (state) {
    case Bisection::Search::State::kUntested:
      return "untested";
    case Bisection::Search::State::kGood:
      return "good";
    case Bisection::Search::State::kBad:
      return "bad";
    case Bisection::Search::State::kUnknown:
      return "unknown";
    case Bisection::Search::State::kSkipped:
      break;
  }
  return "skipped";
}

std::string_view to_text(Bisection::Search::Task::Purpose purpose) {
  switch (purpose) {
    case Bisection::Search::Task::Purpose::kEnds:
      return "ends";
    case Bisection::Search::Task::Purpose::kSearch:
      return "search";
    case Bisection::Search::Task::Purpose::kConfirmation:
      break;
  }
  return "confirmation";
}

Bisection::Search::Search(std::size_t candidates)
    : states_(candidates, Bisection::Search::State::kUntested), bad_(candidates - 1) {
  PLUMB_CHECK(candidates >= 2);
  states_.front() = Bisection::Search::State::kGood;
}

std::optional<std::size_t> Bisection::Search::middle() const {
  const std::size_t middle = good_ + (bad_ - good_) / 2;
  const auto free = [&](std::size_t candidate) {
    return candidate > good_ && candidate < bad_ &&
           states_[candidate] == Bisection::Search::State::kUntested;
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

std::optional<Bisection::Search::Task> Bisection::Search::next() const {
  if (ends_ == Bisection::Search::State::kUntested) {
    return Bisection::Search::Task{Bisection::Search::Task::Purpose::kEnds, bad_, 0};
  }
  if (ends_ != Bisection::Search::State::kBad ||
      confirmation_ != Bisection::Search::State::kUntested) {
    return std::nullopt;
  }
  if (const std::optional<std::size_t> candidate = middle()) {
    return Bisection::Search::Task{Bisection::Search::Task::Purpose::kSearch, *candidate, 0};
  }
  return Bisection::Search::Task{Bisection::Search::Task::Purpose::kConfirmation, bad_, good_};
}

void Bisection::Search::add(Bisection::Search::State state) {
  const std::optional<Bisection::Search::Task> task = next();
  PLUMB_CHECK(task && state != Bisection::Search::State::kUntested);
  switch (task->purpose) {
    case Bisection::Search::Task::Purpose::kEnds:
      ends_ = states_.back() = state;
      break;
    case Bisection::Search::Task::Purpose::kConfirmation:
      confirmation_ = state;
      break;
    case Bisection::Search::Task::Purpose::kSearch:
      states_[task->candidate] = state;
      if (state == Bisection::Search::State::kGood) {
        good_ = task->candidate;
      } else if (state == Bisection::Search::State::kBad) {
        bad_ = task->candidate;
      }
      break;
  }
}

std::size_t Bisection::Search::left() const {
  if (!next()) {
    return 0;
  }
  const auto between = states_.begin() + static_cast<std::ptrdiff_t>(good_);
  const auto untested =
      static_cast<std::size_t>(std::count(between + 1,
                                          states_.begin() + static_cast<std::ptrdiff_t>(bad_),
                                          Bisection::Search::State::kUntested));
  const auto halvings = static_cast<std::size_t>(std::bit_width(untested));
  return halvings + 1 + (ends_ == Bisection::Search::State::kUntested ? 1 : 0);
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

Bisection::Bisection::SideRule::SideRule(std::vector<std::size_t> looks)
    : looks_(std::move(looks)) {
  PLUMB_CHECK(!looks_.empty());
  tails_ = stats::spending_limits(information_at(looks_), kSideTail);
}

Bisection::SideRule::Side Bisection::SideRule::judge(const PairedSamples& pairs,
                                                     double change) const {
  PLUMB_CHECK(change > 1.0);
  const double limit = std::log(change) / 2.0;
  for (std::size_t look = 0; look < looks_.size(); ++look) {
    const std::size_t count = looks_[look];
    if (pairs.baseline.size() < count || pairs.candidate.size() < count) {
      break;
    }
    const PairedSamples::Metric metric = paired_metric(
        {pairs.name, first_of(pairs.baseline, count), first_of(pairs.candidate, count)}, "");
    if (!metric.log_ratio) {
      break;
    }
    const stats::TrimmedMean& sample = *metric.log_ratio;
    const double reach = stats::t_quantile(1.0 - tails_[look], sample.freedom) *
                         std::sqrt(sample.variance / sample.kept);
    if (sample.mean - reach > limit) {
      return Bisection::SideRule::Side::kAfter;
    }
    if (sample.mean + reach < limit) {
      return Bisection::SideRule::Side::kBefore;
    }
  }
  return Bisection::SideRule::Side::kOpen;
}

bool estimate_change(const PairedSamples& pairs, MetricComparison& metric) {
  const PairedSamples::Metric all = paired_metric(pairs, "");
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

SequentialRule::Design search_design(std::size_t pairs) {
  SequentialRule::Design design = design_for(pairs);
  for (std::size_t times = 2; times <= kLongerPairs; times *= 2) {
    design.looks.push_back(times * pairs);
  }
  return design;
}

namespace {

constexpr std::size_t kShortCommit = 12;

std::string described(const Bisection& bisection, std::size_t candidate) {
  const std::string& about = bisection.line[candidate].about;
  return short_name(bisection, candidate) + (about.empty() ? "" : fmt::format(" ({})", about));
}

/// Returns what the search was for: "the layer", "lenet|1|f32 (plain)".
std::string subject_text(const Bisection& bisection) {
  if (!bisection.subject) {
    return bisection.what;
  }
  return bisection.subject->mode.empty()
             ? "the layer"
             : fmt::format("{} ({})", bisection.subject->name, bisection.subject->mode);
}

/// Writes what the confirmation did not confirm.
std::string doubt(const Bisection& bisection) {
  switch (bisection.confirmation) {
    case Bisection::Search::State::kGood:
      return "not confirmed: measured again beside each other, they do not differ; the slow-down "
             "may be spread over several, or a comparison went wrong";
    case Bisection::Search::State::kUntested:
      return "not confirmed";
    default:
      return "not confirmed: there is not enough evidence on the two beside each other";
  }
}

}  // namespace

std::string_view to_text(Bisection::Unit unit) {
  return unit == Bisection::Unit::kCommit ? "commit" : "stack";
}

bool Bisection::undecided() const {
  if (!complete || ends == Bisection::Search::State::kGood) {
    return false;
  }
  const bool open_between =
      std::any_of(steps.begin(), steps.end(), [&](const Bisection::Step& step) {
        return step.state == Bisection::Search::State::kUnknown &&
               step.task.candidate > last_good && step.task.candidate < first_bad;
      });
  return !confirmed() || open_between;
}

Bisection::Search::State state_of(const Bisection& bisection, std::size_t candidate) {
  const auto step = std::find_if(
      bisection.steps.begin(), bisection.steps.end(), [&](const Bisection::Step& each) {
        return each.task.candidate == candidate &&
               each.task.purpose == Bisection::Search::Task::Purpose::kSearch;
      });
  return step == bisection.steps.end() ? Bisection::Search::State::kUntested : step->state;
}

std::string short_name(const Bisection& bisection, std::size_t candidate) {
  const std::string& name = bisection.line[candidate].name;
  return bisection.unit == Bisection::Unit::kCommit ? name.substr(0, kShortCommit) : name;
}

std::string conclusion(const Bisection& bisection) {
  const std::string good = described(bisection, bisection.last_good);
  const std::string last = short_name(bisection, bisection.line.size() - 1);
  const std::string first = short_name(bisection, 0);
  if (bisection.ends == Bisection::Search::State::kGood) {
    return fmt::format("{} is no worse than {}: there is nothing to search", last, first);
  }
  if (!bisection.found()) {
    return bisection.complete
               ? fmt::format("there is not enough evidence that {} is worse than {}", last, first)
               : "interrupted before anything was decided; --resume continues";
  }
  const std::string subject = subject_text(bisection);
  const std::string bad = described(bisection, bisection.first_bad);
  if (!bisection.complete && bisection.confirmation == Bisection::Search::State::kUntested) {
    return fmt::format(
        "interrupted: {} is worse somewhere after {} and up to {}; --resume "
        "continues",
        subject,
        good,
        bad);
  }
  const std::string sure =
      bisection.confirmed() ? "confirmed against it, in new pairs" : doubt(bisection);
  if (bisection.exact()) {
    return fmt::format("{} is first worse in {}; {} is still good; {}", subject, bad, good, sure);
  }
  return fmt::format(
      "{} is worse somewhere after {} and up to {}: the {} between could "
      "not be decided; {}",
      subject,
      good,
      bad,
      bisection.first_bad - bisection.last_good - 1,
      sure);
}

}  // namespace plumb::analysis
