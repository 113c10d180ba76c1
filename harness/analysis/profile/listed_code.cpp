// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/listed_code.hpp"

#include <algorithm>
#include <utility>

namespace plumb::analysis {
namespace {

bool has_counts(const results::CodeListing& listing) {
  return !listing.counts.empty() &&
         std::all_of(listing.instructions.begin(),
                     listing.instructions.end(),
                     [](const auto& each) { return each.counts.empty() == (each.samples == 0); });
}

/// Returns the counts of a function's samples at instructions that its listing lacks.
results::BlockCounts count_rest(const results::CodeListing& listing, std::size_t blocks) {
  std::vector<std::uint32_t> left(blocks);
  for (const results::BlockCount& count : listing.counts) {
    left.at(count.block) += count.samples;
  }
  for (const results::ListedInstruction& instruction : listing.instructions) {
    for (const results::BlockCount& count : instruction.counts) {
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
                                 const results::CodeListing& listing) {
  results::NamedProfile alone;
  alone.blocks = profile.blocks;
  alone.runs = profile.runs;
  alone.processes = profile.processes;
  for (const results::ListedInstruction& instruction : listing.instructions) {
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
std::vector<ProfileShare> independent_shares(const results::CodeListing& listing) {
  std::vector<ProfileShare> shares;
  for (const results::ListedInstruction& instruction : listing.instructions) {
    ProfileShare& share = shares.emplace_back();
    share.samples = instruction.samples;
    if (listing.samples > 0 && share.samples <= listing.samples) {
      share.share = static_cast<double>(share.samples) / static_cast<double>(listing.samples);
      share.interval = wilson_interval(share.samples, listing.samples);
    }
  }
  return shares;
}

}  // namespace

ListedCode list_shares(const results::NamedProfile& profile, results::CodeListing listing) {
  ListedCode listed{std::move(listing), {}, std::nullopt};
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

}  // namespace plumb::analysis
