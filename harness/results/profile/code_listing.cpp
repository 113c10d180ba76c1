// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/code_listing.hpp"

#include <algorithm>
#include <utility>

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

namespace {

constexpr std::size_t kNear = 2;              // instructions on each side of a hot one
constexpr std::uint64_t kLeastHotPart = 100;  // a hot one has a sample of so many

/// Lists the hot instructions by number, that with most samples first.
std::vector<std::size_t> find_hot(const CodeListing& listing) {
  std::vector<std::size_t> hot;
  for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
    const std::uint64_t samples = listing.instructions[i].samples;
    if (samples > 0 && samples * kLeastHotPart >= listing.samples) {
      hot.push_back(i);
    }
  }
  std::stable_sort(hot.begin(), hot.end(), [&](std::size_t left, std::size_t right) {
    return listing.instructions[left].samples > listing.instructions[right].samples;
  });
  return hot;
}

/// Marks the hot ones of `count` instructions, and as many as `near` on each side.
std::vector<bool> mark_around(const std::vector<std::size_t>& hot,
                              std::size_t near,
                              std::size_t count) {
  std::vector<bool> marked(count);
  for (const std::size_t each : hot) {
    for (std::size_t i = each - std::min(each, near); i < std::min(count, each + near + 1); ++i) {
      marked[i] = true;
    }
  }
  return marked;
}

std::size_t count_marked(const std::vector<bool>& marked) {
  return static_cast<std::size_t>(std::count(marked.begin(), marked.end(), true));
}

}  // namespace

CodeListing shorten_listing(CodeListing listing, std::size_t most) {
  std::vector<std::size_t> hot = find_hot(listing);
  hot.resize(std::min(hot.size(), most));
  std::size_t near = kNear;
  std::vector<bool> kept = mark_around(hot, near, listing.instructions.size());
  while (near > 0 && count_marked(kept) > most) {
    kept = mark_around(hot, --near, listing.instructions.size());
  }
  std::vector<ListedInstruction> left;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) {
      left.push_back(std::move(listing.instructions[i]));
    }
  }
  listing.instructions = std::move(left);
  return listing;
}

}  // namespace plumb::results
