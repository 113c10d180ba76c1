// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/profile_codec.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "harness/base/encoding.hpp"

namespace plumb::results {
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

std::string encode_blocks(const std::vector<ProfiledBlock>& blocks) {
  std::string bytes;
  for (const ProfiledBlock& block : blocks) {
    put_varint(bytes, block.executions);
    put_double(bytes, block.sampled.count());
    put_double(bytes, block.unsampled.count());
  }
  return bytes;
}

std::optional<std::vector<ProfiledBlock>> decode_blocks(std::string_view bytes) {
  std::vector<ProfiledBlock> blocks;
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

std::string encode_counts(const std::vector<ProfileCell::Count>& counts) {
  std::string bytes;
  std::uint32_t before = 0;
  for (const ProfileCell::Count& count : counts) {
    put_varint(bytes, count.block - before);
    put_varint(bytes, count.samples);
    before = count.block;
  }
  return bytes;
}

std::optional<std::vector<ProfileCell::Count>> decode_counts(std::string_view bytes,
                                                             std::size_t blocks) {
  std::vector<ProfileCell::Count> counts;
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
