// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/function_growth.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/analysis/profile/explained_change.hpp"

namespace plumb::analysis {
namespace {

/// Returns the growth of an execution relative to its first time; without a time, none.
double relative_growth(const FunctionGrowth& growth) {
  const ProfileDifference& difference = growth.difference;
  return growth.problem.empty() && difference.baseline > Seconds(0.0)
             ? difference.change() / difference.baseline
             : 0.0;
}

/// Lists the functions that certainly take more time, of those that a profile lists.
std::vector<results::CodeListing> list_grown(const ProfileDifference& difference,
                                             const results::NamedProfile& profile) {
  std::vector<results::CodeListing> grown;
  for (const results::CodeListing& listing : profile.listings) {
    const bool grew = std::any_of(
        difference.functions.begin(), difference.functions.end(), [&](const auto& change) {
          return change.function == comparable_function(listing.function) && change.is_certain() &&
                 change.change() > Seconds(0.0);
        });
    if (grew) {
      grown.push_back(listing);
    }
  }
  return grown;
}

FunctionGrowth compare_ends(const std::vector<const DatedProfile*>& profiles) {
  const DatedProfile& first = *profiles.front();
  const DatedProfile& last = *profiles.back();
  FunctionGrowth growth;
  growth.subject = first.stored.subject;
  growth.mode = first.stored.profile.mode;
  growth.system = first.system;
  growth.profiles = profiles.size();
  growth.first = first.stored.run;
  growth.last = last.stored.run;
  growth.first_started = first.started;
  growth.last_started = last.started;
  growth.first_stack = first.stored.profile.stack;
  growth.last_stack = last.stored.profile.stack;
  growth.problem = find_shortage(first.stored.profile, last.stored.profile);
  if (growth.problem.empty()) {
    growth.difference = compute_profile_difference(first.stored.profile, last.stored.profile);
    growth.listings = list_grown(growth.difference, last.stored.profile);
  }
  return growth;
}

}  // namespace

std::vector<FunctionGrowth> find_function_growth(std::span<const DatedProfile> profiles) {
  using Key =
      std::tuple<std::string, std::string, results::SamplingClock, std::uint64_t, std::string>;
  std::map<Key, std::vector<const DatedProfile*>> groups;
  for (const DatedProfile& each : profiles) {
    const results::NamedProfile& profile = each.stored.profile;
    groups[{each.stored.subject, profile.mode, profile.clock, profile.threads, each.system}]
        .push_back(&each);
  }
  std::vector<FunctionGrowth> grown;
  for (auto& [key, group] : groups) {
    std::stable_sort(group.begin(), group.end(), [](const auto* left, const auto* right) {
      return left->started < right->started;
    });
    if (group.front()->stored.run != group.back()->stored.run) {
      grown.push_back(compare_ends(group));
    }
  }
  std::stable_sort(grown.begin(), grown.end(), [](const auto& left, const auto& right) {
    return std::pair(left.problem.empty(), relative_growth(left)) >
           std::pair(right.problem.empty(), relative_growth(right));
  });
  return grown;
}

}  // namespace plumb::analysis
