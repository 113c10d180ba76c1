// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/stored_profile.hpp"

#include <utility>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

void join_consecutive(NamedProfile& profile, std::size_t blocks) {
  const std::size_t before = profile.blocks.size();
  if (before <= blocks) {
    return;
  }
  PLUMB_CHECK(profile.runs.empty());  // whose blocks would be joined with others
  const auto joined = [&](std::size_t block) { return block * blocks / before; };
  std::vector<ProfiledBlock> sums(blocks);
  for (std::size_t block = 0; block < before; ++block) {
    ProfiledBlock& sum = sums[joined(block)];
    sum.executions += profile.blocks[block].executions;
    sum.sampled += profile.blocks[block].sampled;
    sum.unsampled += profile.blocks[block].unsampled;
  }
  profile.blocks = std::move(sums);
  for (ProfileCell& cell : profile.cells) {
    cell.counts = join_blocks(cell.counts, before, blocks);
  }
  for (CodeListing& listing : profile.listings) {
    listing.counts = join_blocks(listing.counts, before, blocks);
    for (ListedInstruction& instruction : listing.instructions) {
      instruction.counts = join_blocks(instruction.counts, before, blocks);
    }
  }
}

}  // namespace

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
