// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace plumb::results {

/// Samples in one block of a profile.
struct BlockCount {
  std::uint32_t block = 0;
  std::uint32_t samples = 0;

  bool operator==(const BlockCount&) const = default;
};

/// Samples by block, ascending, none of them zero.
using BlockCounts = std::vector<BlockCount>;

/// Adds samples of a block. Blocks that do not ascend are left for order_blocks().
void add_samples(std::uint32_t block, std::uint32_t samples, BlockCounts& counts);
/// Sorts counts by block, with one for each.
void order_blocks(BlockCounts& counts);
/// Adds counts to others, with the number of their blocks raised by `first_block`.
void append_blocks(const BlockCounts& more, std::uint32_t first_block, BlockCounts& counts);
/// Returns the counts where each block became part of the one in `joined`, which ascends.
[[nodiscard]] BlockCounts join_blocks(const BlockCounts& counts,
                                      const std::vector<std::uint32_t>& joined);
/// Returns the samples of all blocks.
[[nodiscard]] std::uint64_t count_samples(const BlockCounts& counts);

}  // namespace plumb::results
