// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/named_profile.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

/// Returns the new number of each block, of `most` in all, and changes the blocks of each process
/// to what is left of them. No block gets those of two processes, unless there are more of these.
std::vector<std::uint32_t> number_joined(std::size_t blocks,
                                         std::size_t most,
                                         std::vector<std::uint64_t>& processes) {
  if (processes.size() > most) {
    processes.clear();
  }
  const std::vector<std::uint64_t> parts =
      processes.empty() ? std::vector<std::uint64_t>{blocks} : processes;
  std::vector<std::uint32_t> joined;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t room = most * (i + 1) / parts.size() - most * i / parts.size();
    const std::uint64_t left = std::min(parts[i], room);
    for (std::uint64_t block = 0; block < parts[i]; ++block) {
      joined.push_back(static_cast<std::uint32_t>(first + block * left / parts[i]));
    }
    first += left;
    if (!processes.empty()) {
      processes[i] = left;
    }
  }
  PLUMB_CHECK(joined.size() == blocks);
  return joined;
}

void join_consecutive(NamedProfile& profile, std::size_t blocks) {
  if (profile.blocks.size() <= blocks) {
    return;
  }
  PLUMB_CHECK(profile.runs.empty());  // whose blocks would be joined with others
  const std::vector<std::uint32_t> joined =
      number_joined(profile.blocks.size(), blocks, profile.processes);
  std::vector<ProfiledBlock> sums(std::size_t{joined.back()} + 1);
  for (std::size_t block = 0; block < joined.size(); ++block) {
    ProfiledBlock& sum = sums[joined[block]];
    sum.executions += profile.blocks[block].executions;
    sum.sampled += profile.blocks[block].sampled;
    sum.unsampled += profile.blocks[block].unsampled;
  }
  profile.blocks = std::move(sums);
  for (ProfileCell& cell : profile.cells) {
    cell.counts = join_blocks(cell.counts, joined);
  }
  for (CodeListing& listing : profile.listings) {
    listing.counts = join_blocks(listing.counts, joined);
    for (ListedInstruction& instruction : listing.instructions) {
      instruction.counts = join_blocks(instruction.counts, joined);
    }
  }
}

}  // namespace

bool has_whole_processes(const NamedProfile& profile) {
  std::uint64_t left = profile.blocks.size();
  for (const std::uint64_t blocks : profile.processes) {
    if (blocks == 0 || blocks > left) {
      return false;
    }
    left -= blocks;
  }
  return profile.processes.empty() || left == 0;
}

NamedProfile condense_listings(NamedProfile profile) {
  for (CodeListing& listing : profile.listings) {
    listing = shorten_listing(std::move(listing), kMaxKeptInstructions);
  }
  return profile;
}

NamedProfile condense_profile(NamedProfile profile, std::size_t blocks) {
  join_consecutive(profile, blocks);
  return condense_listings(std::move(profile));
}

}  // namespace plumb::results
