// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/change_groups.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/analysis/compare/implementation_name.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

// Names and paths, and what is of this program: another fact says it where it matters.
constexpr std::array<std::string_view, 6> kNoCause{
    "boot.", "stack.", "plumb.", "worker.", "label.", "method"};

std::optional<CauseKind> cause_kind(const std::string& fact) {
  if (fact == "label.commit") {
    return CauseKind::kCommit;
  }
  if (fact.ends_with(".path") || std::any_of(kNoCause.begin(), kNoCause.end(), [&](auto begin) {
        return fact.starts_with(begin);
      })) {
    return std::nullopt;
  }
  return results::is_of_stack(fact)   ? CauseKind::kLibrary
         : fact.starts_with("driver") ? CauseKind::kDriver
                                      : CauseKind::kMachine;
}

/// Identity of a cause. The value before is left out: a history may have missed some nights.
using CauseId = std::tuple<CauseKind, std::string, std::string>;

CauseId id_of(const PossibleCause& cause) {
  return {cause.kind, cause.fact, cause.after};
}

/// Sets of changes that belong together.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t one) {
    while (parent_[one] != one) {
      parent_[one] = parent_[parent_[one]];
      one = parent_[one];
    }
    return one;
  }
  void join(std::size_t one, std::size_t other) { parent_[find(one)] = find(other); }

 private:
  std::vector<std::size_t> parent_;
};

double growth(const OpenChange& each) {
  return each.change.after / each.change.before;
}

/// Fills in what a group's changes have in common.
void conclude(ChangeGroup& group) {
  std::map<CauseId, std::pair<PossibleCause, std::size_t>> counts;
  std::set<std::string> families;
  for (const OpenChange& each : group.changes) {
    families.insert(each.family);
    for (const PossibleCause& cause : each.causes) {
      auto& [first, count] = counts.try_emplace(id_of(cause), cause, std::size_t{0}).first->second;
      ++count;
    }
  }
  group.families.assign(families.begin(), families.end());
  std::vector<std::pair<PossibleCause, std::size_t>> shared;
  for (auto& [id, counted] : counts) {
    if (2 * counted.second > group.changes.size()) {
      shared.push_back(std::move(counted));
    }
  }
  std::stable_sort(shared.begin(), shared.end(), [](const auto& one, const auto& other) {
    return one.second != other.second ? one.second > other.second
                                      : one.first.kind < other.first.kind;
  });
  for (auto& [cause, count] : shared) {
    group.causes.push_back(std::move(cause));
  }
  std::stable_sort(
      group.changes.begin(),
      group.changes.end(),
      [](const OpenChange& one, const OpenChange& other) { return growth(one) > growth(other); });
}

}  // namespace

std::string_view to_text(CauseKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"commit", "library", "driver", "machine"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<PossibleCause> possible_causes(const results::Environment& before,
                                           const results::Environment& after) {
  std::vector<PossibleCause> causes;
  for (const EnvironmentDifference& difference : environment_changes(before, after)) {
    if (const auto kind = cause_kind(difference.name)) {
      causes.push_back({*kind, difference.name, difference.baseline, difference.candidate});
    }
  }
  std::stable_sort(causes.begin(), causes.end(), [](const auto& one, const auto& other) {
    return one.kind < other.kind;
  });
  return causes;
}

std::string kernel_family(const std::string& series, std::string_view variant) {
  if (results::is_model_series(series)) {
    return "models";
  }
  const std::size_t begin = series.find(':');
  if (!results::parse_series(series).subject.starts_with("v") || begin == std::string::npos) {
    return "benchmarks";
  }
  const std::string op = series.substr(begin + 1, series.find(';', begin) - begin - 1);
  const std::string family = variant.empty() ? "" : implementation_name(variant).family;
  return family.empty() ? op : op + " " + family;
}

std::vector<ChangeGroup> group_changes(std::vector<OpenChange> changes) {
  Sets sets(changes.size());
  std::map<CauseId, std::size_t> by_cause;
  std::map<std::pair<results::RunId, std::string>, std::size_t> by_family;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const PossibleCause& cause : changes[i].causes) {
      sets.join(i, by_cause.try_emplace(id_of(cause), i).first->second);
    }
    if (changes[i].causes.empty()) {
      sets.join(i,
                by_family.try_emplace({changes[i].change.run, changes[i].family}, i).first->second);
    }
  }
  std::map<std::size_t, ChangeGroup> groups;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    groups[sets.find(i)].changes.push_back(std::move(changes[i]));
  }
  std::vector<ChangeGroup> result;
  for (auto& [root, group] : groups) {
    conclude(group);
    result.push_back(std::move(group));
  }
  std::stable_sort(
      result.begin(), result.end(), [](const ChangeGroup& one, const ChangeGroup& other) {
        return one.changes.size() != other.changes.size()
                   ? one.changes.size() > other.changes.size()
                   : growth(one.changes.front()) > growth(other.changes.front());
      });
  return result;
}

}  // namespace plumb::analysis
