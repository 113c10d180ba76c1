// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::analysis {
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
    case CandidateState::kGood:
      return "not confirmed: measured again beside each other, they do not differ; the slow-down "
             "may be spread over several, or a comparison went wrong";
    case CandidateState::kUntested:
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
  if (!complete || ends == CandidateState::kGood) {
    return false;
  }
  const bool open_between = std::any_of(steps.begin(), steps.end(), [&](const BisectionStep& step) {
    return step.state == CandidateState::kUnknown && step.task.candidate > last_good &&
           step.task.candidate < first_bad;
  });
  return !confirmed() || open_between;
}

CandidateState state_of(const Bisection& bisection, std::size_t candidate) {
  const auto step =
      std::find_if(bisection.steps.begin(), bisection.steps.end(), [&](const BisectionStep& each) {
        return each.task.candidate == candidate &&
               each.task.purpose == SearchTask::Purpose::kSearch;
      });
  return step == bisection.steps.end() ? CandidateState::kUntested : step->state;
}

std::string short_name(const Bisection& bisection, std::size_t candidate) {
  const std::string& name = bisection.line[candidate].name;
  return bisection.unit == Bisection::Unit::kCommit ? name.substr(0, kShortCommit) : name;
}

std::string conclusion(const Bisection& bisection) {
  const std::string good = described(bisection, bisection.last_good);
  const std::string last = short_name(bisection, bisection.line.size() - 1);
  const std::string first = short_name(bisection, 0);
  if (bisection.ends == CandidateState::kGood) {
    return fmt::format("{} is no worse than {}: there is nothing to search", last, first);
  }
  if (!bisection.found()) {
    return bisection.complete
               ? fmt::format("there is not enough evidence that {} is worse than {}", last, first)
               : "interrupted before anything was decided; --resume continues";
  }
  const std::string subject = subject_text(bisection);
  const std::string bad = described(bisection, bisection.first_bad);
  if (!bisection.complete && bisection.confirmation == CandidateState::kUntested) {
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
