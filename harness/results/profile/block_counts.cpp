// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/block_counts.hpp"

#include <algorithm>

namespace plumb::results {

void add_samples(std::uint32_t block, std::uint32_t samples, BlockCounts& counts) {
  if (counts.empty() || counts.back().block != block) {
    counts.push_back({block, 0});
  }
  counts.back().samples += samples;
}

void order_blocks(BlockCounts& counts) {
  const auto not_before = [](const BlockCount& left, const BlockCount& right) {
    return left.block >= right.block;
  };
  if (std::adjacent_find(counts.begin(), counts.end(), not_before) == counts.end()) {
    return;  // as workers send them
  }
  std::sort(counts.begin(), counts.end(), [](const BlockCount& left, const BlockCount& right) {
    return left.block < right.block;
  });
  BlockCounts ordered;
  for (const BlockCount& count : counts) {
    add_samples(count.block, count.samples, ordered);
  }
  counts = std::move(ordered);
}

void append_blocks(const BlockCounts& more, std::uint32_t first_block, BlockCounts& counts) {
  for (const BlockCount& count : more) {
    counts.push_back({first_block + count.block, count.samples});
  }
}

BlockCounts join_blocks(const BlockCounts& counts, const std::vector<std::uint32_t>& joined) {
  BlockCounts sums;
  for (const BlockCount& count : counts) {
    add_samples(joined.at(count.block), count.samples, sums);
  }
  return sums;
}

std::uint64_t count_samples(const BlockCounts& counts) {
  std::uint64_t sum = 0;
  for (const BlockCount& count : counts) {
    sum += count.samples;
  }
  return sum;
}

}  // namespace plumb::results
