// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/error.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {
namespace {

/// Removes the number that some versions of a library add to each kernel: "jit_kernel.19".
void remove_number(std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '.') {
    name.resize(end);
  }
}

/// Numbers for what two profiles have in common, in the order of first sight.
template <typename Name>
class SharedNumbers {
 public:
  std::uint32_t number(const Name& name) {
    const auto [place, added] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (added) {
      names_.push_back(name);
    }
    return place->second;
  }
  [[nodiscard]] const std::vector<Name>& names() const { return names_; }

 private:
  std::map<Name, std::uint32_t> numbers_;
  std::vector<Name> names_;
};

using Functions = SharedNumbers<results::NamedProfile::CodeNames::Function>;
/// Steps by name, with the number of a function.
using Places = SharedNumbers<std::pair<std::string, std::uint32_t>>;

/// Rows of one profile's cells in tables that both profiles share.
struct SharedRows {
  CellRows functions;
  CellRows places;
};

SharedRows find_rows(const results::NamedProfile& profile, Functions& functions, Places& places) {
  SharedRows rows;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    rows.functions.push_back(
        functions.number(comparable_function(profile.functions.at(cell.function))));
    rows.places.push_back(places.number({step_name(profile, cell.step), rows.functions.back()}));
  }
  return rows;
}

std::vector<double> subtract(const std::vector<double>& left, const std::vector<double>& right) {
  std::vector<double> result(left.size());
  std::transform(left.begin(), left.end(), right.begin(), result.begin(), std::minus<>());
  return result;
}

/// Returns the seconds of each row in an execution, and of the execution as the last one.
std::vector<double> row_seconds(const GroupedSamples& samples) {
  const auto whole = static_cast<double>(samples.samples());
  const double execution = samples.execution_seconds();
  std::vector<double> seconds;
  for (std::size_t row = 0; row < samples.rows(); ++row) {
    const auto part = static_cast<double>(samples.samples(row));
    seconds.push_back(whole > 0.0 ? part / whole * execution : 0.0);
  }
  seconds.push_back(execution);
  return seconds;
}

/// Rounds of a bootstrap over one profile's groups.
struct DrawnProfile {
  explicit DrawnProfile(const GroupedSamples& of)
      : samples(of), drawn(of.groups(), kBootstrapRounds) {}

  /// Computes what all rows share, once every round is drawn.
  void finish() {
    of_all = samples.samples(drawn);
    execution = samples.execution_seconds(drawn);
  }
  /// Returns the seconds of a row in each round; after the last row, those of the execution.
  [[nodiscard]] std::vector<double> seconds(std::size_t row) const {
    if (row == samples.rows()) {
      return execution;
    }
    std::vector<double> seconds = samples.shares(row, drawn, of_all);
    std::transform(
        seconds.begin(), seconds.end(), execution.begin(), seconds.begin(), std::multiplies<>());
    return seconds;
  }

  const GroupedSamples& samples;
  GroupedSamples::Drawn drawn;
  std::vector<double> of_all;
  std::vector<double> execution;
};

/// Returns the interval of each row's change. None: too few blocks.
std::vector<GroupedSamples::Share::Interval> compute_intervals(const GroupedSamples& baseline,
                                                               const GroupedSamples& candidate,
                                                               const std::vector<double>& changes,
                                                               std::uint64_t seed) {
  const std::size_t groups = std::min(baseline.groups(), candidate.groups());
  if (groups < GroupedSamples::kMinGroups) {
    return {};
  }
  std::mt19937_64 random(seed);
  DrawnProfile before(baseline);
  DrawnProfile after(candidate);
  for (std::size_t round = 0; round < kBootstrapRounds; ++round) {
    before.drawn.draw(round, random);
    after.drawn.draw(round, random);
  }
  before.finish();
  after.finish();
  std::vector<GroupedSamples::Share::Interval> intervals;
  for (std::size_t row = 0; row < changes.size(); ++row) {
    std::vector<double> values = subtract(after.seconds(row), before.seconds(row));
    intervals.push_back(bootstrap_interval(changes[row], values, groups));
  }
  return intervals;
}

/// Names for each function the step that changed most in its direction.
void name_steps(const Places& places,
                const std::vector<double>& changes,
                std::vector<ProfileDifference::Function>& functions) {
  std::vector<double> largest(functions.size());
  for (std::size_t place = 0; place < places.names().size(); ++place) {
    const auto& [step, function] = places.names()[place];
    const double direction = functions[function].change() < Seconds(0.0) ? -1.0 : 1.0;
    if (changes[place] * direction > largest[function]) {
      largest[function] = changes[place] * direction;
      functions[function].step = step;
    }
  }
}

}  // namespace

results::NamedProfile::CodeNames::Function comparable_function(
    results::NamedProfile::CodeNames::Function function) {
  function.build_id.clear();
  if (function.image == results::kGeneratedImage) {
    remove_number(function.name);
  }
  const std::size_t ending = function.image.find(".so");
  if (ending != std::string::npos) {
    function.image.resize(ending + 3);
  }
  return function;
}

Seconds ProfileDifference::unexplained() const {
  Seconds rest = change();
  for (const ProfileDifference::Function& function : functions) {
    rest -= function.is_certain() ? function.change() : Seconds(0.0);
  }
  return rest;
}

ProfileDifference compute_profile_difference(const results::NamedProfile& baseline,
                                             const results::NamedProfile& candidate,
                                             std::uint64_t seed) {
  if (baseline.model != candidate.model) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the profiles are of different models, '{}' and '{}': profile one of "
                            "them twice",
                            baseline.model,
                            candidate.model));
  }
  Functions functions;
  Places places;
  const SharedRows of_baseline = find_rows(baseline, functions, places);
  const SharedRows of_candidate = find_rows(candidate, functions, places);
  const std::size_t count = functions.names().size();
  const GroupedSamples before(baseline, of_baseline.functions, count);
  const GroupedSamples after(candidate, of_candidate.functions, count);
  const std::vector<double> baseline_seconds = row_seconds(before);
  const std::vector<double> candidate_seconds = row_seconds(after);
  const std::vector<double> changes = subtract(candidate_seconds, baseline_seconds);
  const std::vector<GroupedSamples::Share::Interval> intervals =
      compute_intervals(before, after, changes, seed);
  ProfileDifference difference;
  difference.baseline = Seconds(baseline_seconds.back());
  difference.candidate = Seconds(candidate_seconds.back());
  for (std::size_t row = 0; row < count; ++row) {
    ProfileDifference::Function change;
    change.function = functions.names()[row];
    change.baseline = Seconds(baseline_seconds[row]);
    change.candidate = Seconds(candidate_seconds[row]);
    change.in_baseline = before.samples(row) > 0;
    change.in_candidate = after.samples(row) > 0;
    if (!intervals.empty()) {
      change.interval = intervals[row];
    }
    difference.functions.push_back(std::move(change));
  }
  if (!intervals.empty()) {
    difference.interval = intervals.back();
  }
  const std::size_t place_count = places.names().size();
  name_steps(places,
             subtract(row_seconds(GroupedSamples(candidate, of_candidate.places, place_count)),
                      row_seconds(GroupedSamples(baseline, of_baseline.places, place_count))),
             difference.functions);
  std::stable_sort(
      difference.functions.begin(),
      difference.functions.end(),
      [](const ProfileDifference::Function& left, const ProfileDifference::Function& right) {
        return std::abs(left.change().count()) > std::abs(right.change().count());
      });
  return difference;
}

}  // namespace plumb::analysis
