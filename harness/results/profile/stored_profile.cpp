// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/stored_profile.hpp"

#include <utility>

namespace plumb::results {
namespace {

void join_blocks(NamedProfile& profile, std::size_t blocks) {
  const std::size_t before = profile.blocks.size();
  if (before <= blocks) {
    return;
  }
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
    std::vector<ProfileCell::Count> counts;
    for (const ProfileCell::Count& count : cell.counts) {
      const auto block = static_cast<std::uint32_t>(joined(count.block));
      if (counts.empty() || counts.back().block != block) {
        counts.push_back({block, 0});
      }
      counts.back().samples += count.samples;
    }
    cell.counts = std::move(counts);
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
  join_blocks(profile, blocks);
  return condense_listings(std::move(profile));
}

}  // namespace plumb::results
