// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/named_profile.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 4> kClocks{"cycles", "cpu-clock", "thread", "timer"};

}  // namespace

std::string_view to_text(SampledProfile::Clock clock) {
  return enum_text(kClocks, clock);
}

std::optional<SampledProfile::Clock> sampling_clock_from(std::string_view text) {
  return parse_enum<SampledProfile::Clock>(kClocks, text);
}

void add_samples(std::uint32_t block, std::uint32_t samples, BlockCounts& counts) {
  if (counts.empty() || counts.back().block != block) {
    counts.push_back({block, 0});
  }
  counts.back().samples += samples;
}

void order_blocks(BlockCounts& counts) {
  const auto not_before = [](const SampledProfile::BlockCount& left,
                             const SampledProfile::BlockCount& right) {
    return left.block >= right.block;
  };
  if (std::adjacent_find(counts.begin(), counts.end(), not_before) == counts.end()) {
    return;  // as workers send them
  }
  std::sort(counts.begin(),
            counts.end(),
            [](const SampledProfile::BlockCount& left, const SampledProfile::BlockCount& right) {
              return left.block < right.block;
            });
  BlockCounts ordered;
  for (const SampledProfile::BlockCount& count : counts) {
    add_samples(count.block, count.samples, ordered);
  }
  counts = std::move(ordered);
}

void append_blocks(const BlockCounts& more, std::uint32_t first_block, BlockCounts& counts) {
  for (const SampledProfile::BlockCount& count : more) {
    counts.push_back({first_block + count.block, count.samples});
  }
}

BlockCounts join_blocks(const BlockCounts& counts, const std::vector<std::uint32_t>& joined) {
  BlockCounts sums;
  for (const SampledProfile::BlockCount& count : counts) {
    add_samples(joined.at(count.block), count.samples, sums);
  }
  return sums;
}

std::uint64_t count_samples(const BlockCounts& counts) {
  std::uint64_t sum = 0;
  for (const SampledProfile::BlockCount& count : counts) {
    sum += count.samples;
  }
  return sum;
}

namespace {

constexpr std::size_t kNear = 2;   // instructions on each side of a hot one
constexpr double kHotShare = 0.9;  // of all samples, that the hot ones have together

/// Lists the fewest instructions with kHotShare of the samples by number, that with most first.
std::vector<std::size_t> find_hot(const NamedProfile::Listing& listing) {
  std::vector<std::size_t> hot(listing.instructions.size());
  std::iota(hot.begin(), hot.end(), std::size_t{0});
  std::stable_sort(hot.begin(), hot.end(), [&](std::size_t left, std::size_t right) {
    return listing.instructions[left].samples > listing.instructions[right].samples;
  });
  const double enough = kHotShare * static_cast<double>(listing.samples);
  std::uint64_t samples = 0;
  std::size_t taken = 0;
  while (taken < hot.size() && static_cast<double>(samples) < enough &&
         listing.instructions[hot[taken]].samples > 0) {
    samples += listing.instructions[hot[taken++]].samples;
  }
  hot.resize(taken);
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

NamedProfile::Listing shorten_listing(NamedProfile::Listing listing, std::size_t most) {
  std::vector<std::size_t> hot = find_hot(listing);
  hot.resize(std::min(hot.size(), most));
  std::size_t near = kNear;
  std::vector<bool> kept = mark_around(hot, near, listing.instructions.size());
  while (near > 0 && count_marked(kept) > most) {
    kept = mark_around(hot, --near, listing.instructions.size());
  }
  std::vector<NamedProfile::Listing::Instruction> left;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) {
      left.push_back(std::move(listing.instructions[i]));
    }
  }
  listing.instructions = std::move(left);
  return listing;
}

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
  std::vector<SampledProfile::Block> sums(std::size_t{joined.back()} + 1);
  for (std::size_t block = 0; block < joined.size(); ++block) {
    SampledProfile::Block& sum = sums[joined[block]];
    sum.executions += profile.blocks[block].executions;
    sum.sampled += profile.blocks[block].sampled;
    sum.unsampled += profile.blocks[block].unsampled;
  }
  profile.blocks = std::move(sums);
  for (NamedProfile::Cell& cell : profile.cells) {
    cell.counts = join_blocks(cell.counts, joined);
  }
  for (NamedProfile::Listing& listing : profile.listings) {
    listing.counts = join_blocks(listing.counts, joined);
    for (NamedProfile::Listing::Instruction& instruction : listing.instructions) {
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
  for (NamedProfile::Listing& listing : profile.listings) {
    listing = shorten_listing(std::move(listing), kMaxKeptInstructions);
  }
  return profile;
}

NamedProfile condense_profile(NamedProfile profile, std::size_t blocks) {
  join_consecutive(profile, blocks);
  return condense_listings(std::move(profile));
}

namespace {

static_assert(std::endian::native == std::endian::little, "stores move between machines");

void put_double(std::string& out, double value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

std::optional<double> take_double(std::string_view& in) {
  double value = 0.0;
  if (in.size() < sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

std::optional<std::uint32_t> take_count(std::string_view& in) {
  const std::optional<std::uint64_t> value = take_varint(in);
  return value && *value <= std::numeric_limits<std::uint32_t>::max()
             ? std::optional(static_cast<std::uint32_t>(*value))
             : std::nullopt;
}

}  // namespace

std::string encode_blocks(const std::vector<SampledProfile::Block>& blocks) {
  std::string bytes;
  for (const SampledProfile::Block& block : blocks) {
    put_varint(bytes, block.executions);
    put_double(bytes, block.sampled.count());
    put_double(bytes, block.unsampled.count());
  }
  return bytes;
}

std::optional<std::vector<SampledProfile::Block>> decode_blocks(std::string_view bytes) {
  std::vector<SampledProfile::Block> blocks;
  while (!bytes.empty()) {
    const auto executions = take_count(bytes);
    const auto sampled = take_double(bytes);
    const auto unsampled = take_double(bytes);
    if (!executions || !sampled || !unsampled) {
      return std::nullopt;
    }
    blocks.push_back({*executions, Seconds(*sampled), Seconds(*unsampled)});
  }
  return blocks;
}

std::string encode_counts(const std::vector<NamedProfile::Cell::Count>& counts) {
  std::string bytes;
  std::uint32_t before = 0;
  for (const NamedProfile::Cell::Count& count : counts) {
    put_varint(bytes, count.block - before);
    put_varint(bytes, count.samples);
    before = count.block;
  }
  return bytes;
}

std::optional<std::vector<NamedProfile::Cell::Count>> decode_counts(std::string_view bytes,
                                                                    std::size_t blocks) {
  std::vector<NamedProfile::Cell::Count> counts;
  std::uint64_t block = 0;
  while (!bytes.empty()) {
    const auto distance = take_count(bytes);
    const auto samples = take_count(bytes);
    block += distance.value_or(0);
    if (!distance || !samples || block >= blocks || (!counts.empty() && *distance == 0)) {
      return std::nullopt;
    }
    counts.push_back({static_cast<std::uint32_t>(block), *samples});
  }
  return counts;
}

}  // namespace plumb::results
