// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/function_growth.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/profile/merged_profile.hpp"

namespace plumb::analysis {
namespace {

bool has_counts(const results::NamedProfile::Listing& listing) {
  return !listing.counts.empty() &&
         std::all_of(listing.instructions.begin(),
                     listing.instructions.end(),
                     [](const auto& each) { return each.counts.empty() == (each.samples == 0); });
}

/// Returns the counts of a function's samples at instructions that its listing lacks.
results::BlockCounts count_rest(const results::NamedProfile::Listing& listing, std::size_t blocks) {
  std::vector<std::uint32_t> left(blocks);
  for (const results::SampledProfile::BlockCount& count : listing.counts) {
    left.at(count.block) += count.samples;
  }
  for (const results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
    for (const results::SampledProfile::BlockCount& count : instruction.counts) {
      left.at(count.block) -= std::min(left.at(count.block), count.samples);
    }
  }
  results::BlockCounts rest;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (left[block] > 0) {
      rest.push_back({static_cast<std::uint32_t>(block), left[block]});
    }
  }
  return rest;
}

/// Counts the units that a bootstrap draws of a profile and that have samples of a function.
std::size_t count_units(const results::NamedProfile& profile, const results::BlockCounts& counts) {
  std::size_t found = 0;
  std::uint64_t end = 0;
  auto next = counts.begin();
  for (const std::uint64_t blocks : blocks_of_units(profile)) {
    end += blocks;
    found += next != counts.end() && next->block < end ? 1U : 0U;
    while (next != counts.end() && next->block < end) {
      ++next;
    }
  }
  return found;
}

/// Returns a profile of one function alone, with a cell for each instruction and one for the rest.
results::NamedProfile profile_of(const results::NamedProfile& profile,
                                 const results::NamedProfile::Listing& listing) {
  results::NamedProfile alone;
  alone.blocks = profile.blocks;
  alone.runs = profile.runs;
  alone.processes = profile.processes;
  for (const results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
    alone.cells.push_back({results::kNoStep, 0, instruction.counts});
  }
  alone.cells.push_back({results::kNoStep, 0, count_rest(listing, profile.blocks.size())});
  const auto has_few = [&] {
    return count_units(alone, listing.counts) < GroupedSamples::kMinGroups;
  };
  if (has_few()) {
    alone.runs.clear();  // too few runs keep a listing of it
  }
  if (has_few()) {
    alone.processes.clear();
  }
  return alone;
}

/// Returns the shares of independent samples.
std::vector<GroupedSamples::Share> independent_shares(
    const results::NamedProfile::Listing& listing) {
  std::vector<GroupedSamples::Share> shares;
  for (const results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
    GroupedSamples::Share& share = shares.emplace_back();
    share.samples = instruction.samples;
    if (listing.samples > 0 && share.samples <= listing.samples) {
      share.share = static_cast<double>(share.samples) / static_cast<double>(listing.samples);
      share.interval = wilson_interval(share.samples, listing.samples);
    }
  }
  return shares;
}

}  // namespace

FunctionGrowth::Listing list_shares(const results::NamedProfile& profile,
                                    results::NamedProfile::Listing listing) {
  FunctionGrowth::Listing listed{std::move(listing), {}, std::nullopt};
  listed.shares = independent_shares(listed.listing);
  if (!has_counts(listed.listing)) {
    return listed;
  }
  const results::NamedProfile alone = profile_of(profile, listed.listing);
  const GroupedSamples samples(alone, rows_of_cells(alone), alone.cells.size());
  if (samples.groups() >= GroupedSamples::kMinGroups) {
    listed.shares = compute_shares(samples);
    listed.shares.pop_back();  // the rest
    listed.drawn = drawn_unit(alone);
  }
  return listed;
}

namespace {

/// Returns the growth of an execution relative to its first time; without a time, none.
double relative_growth(const FunctionGrowth& growth) {
  const ProfileDifference& difference = growth.difference;
  return growth.problem.empty() && difference.baseline > Seconds(0.0)
             ? difference.change() / difference.baseline
             : 0.0;
}

/// Lists the functions that certainly take more time, of those that a profile lists.
std::vector<FunctionGrowth::Listing> list_grown(const ProfileDifference& difference,
                                                const results::NamedProfile& profile) {
  std::vector<FunctionGrowth::Listing> grown;
  for (const results::NamedProfile::Listing& listing : profile.listings) {
    const bool grew = std::any_of(
        difference.functions.begin(), difference.functions.end(), [&](const auto& change) {
          return change.function == comparable_function(listing.function) && change.is_certain() &&
                 change.change() > Seconds(0.0);
        });
    if (grew) {
      grown.push_back(list_shares(profile, listing));
    }
  }
  return grown;
}

/// Merges the first profiles of a list that are of one environment, in the order of their start.
template <typename Place>
results::NamedProfile merge_end(Place begin, std::size_t most, FunctionGrowth::End& end) {
  const RunMerger::DatedProfile& outermost = **begin;
  std::vector<const RunMerger::DatedProfile*> runs;
  for (Place each = begin; runs.size() < most; ++each) {
    if ((*each)->environment != outermost.environment) {
      break;
    }
    runs.push_back(*each);
  }
  std::stable_sort(runs.begin(), runs.end(), [](const auto* left, const auto* right) {
    return left->started < right->started;
  });
  end = {runs.size(), outermost.stored.run, outermost.started, outermost.stored.profile.stack};
  RunMerger merger(runs.size());
  for (const RunMerger::DatedProfile* const run : runs) {
    merger.add(*run);
  }
  return merger.take().front();
}

/// Compares both ends of profiles in the order of their start, at least two.
FunctionGrowth compare_ends(const std::vector<const RunMerger::DatedProfile*>& profiles) {
  FunctionGrowth growth;
  growth.subject = profiles.front()->stored.subject;
  growth.mode = profiles.front()->stored.profile.mode;
  growth.system = profiles.front()->system;
  growth.profiles = profiles.size();
  const std::size_t most = std::min(kMaxEndRuns, profiles.size() / 2);
  const results::NamedProfile first = merge_end(profiles.begin(), most, growth.first);
  const results::NamedProfile last = merge_end(profiles.rbegin(), most, growth.last);
  growth.problem = find_shortage(first, last);
  if (growth.problem.empty()) {
    growth.difference = compute_profile_difference(first, last);
    growth.listings = list_grown(growth.difference, last);
  }
  return growth;
}

}  // namespace

std::vector<FunctionGrowth> find_function_growth(
    std::span<const RunMerger::DatedProfile> profiles) {
  using Key = std::
      tuple<std::string, std::string, results::SampledProfile::Clock, std::uint64_t, std::string>;
  std::map<Key, std::vector<const RunMerger::DatedProfile*>> groups;
  for (const RunMerger::DatedProfile& each : profiles) {
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
