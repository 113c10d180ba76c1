// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/listing_json.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr FieldLimits kNumber{.high = std::int64_t{1} << 53U};
constexpr std::size_t kMaxText = 1000;  // bytes of one instruction

}  // namespace

Json counts_json(const BlockCounts& counts) {
  Json pairs = Json::array();
  for (const BlockCount& count : counts) {
    pairs.push_back({count.block, count.samples});
  }
  return pairs;
}

void refuse_counts() {
  throw Error(Error::Kind::kUser,
              "'counts' holds ascending blocks of the profile, each with its samples");
}

BlockCounts counts_from(const nlohmann::json& pairs) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto is_count = [](const nlohmann::json& number) {
    return number.is_number_unsigned() && number.get<std::uint64_t>() <= kMost;
  };
  if (!pairs.is_array()) {
    refuse_counts();
  }
  BlockCounts counts;
  for (const nlohmann::json& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2 || !is_count(pair[0]) || !is_count(pair[1])) {
      refuse_counts();
    }
    const BlockCount count{pair[0].get<std::uint32_t>(), pair[1].get<std::uint32_t>()};
    if (count.samples == 0 || (!counts.empty() && counts.back().block >= count.block)) {
      refuse_counts();
    }
    counts.push_back(count);
  }
  return counts;
}

namespace {

/// Checks that counts are those of a profile's blocks.
void check_counts(const BlockCounts& counts, std::uint64_t samples, std::size_t blocks) {
  if (!counts.empty() && (counts.back().block >= blocks || count_samples(counts) != samples)) {
    refuse_counts();
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, ListedInstruction>& value) {
  fields("offset", value.offset, kNumber);
  fields("bytes", value.bytes, kNumber);
  fields("text", value.text);
  fields("samples", value.samples, kNumber);
  fields.unless_empty("counts", value.counts, counts_json, counts_from);
  if (Fields::kReads && value.text.size() > kMaxText) {
    throw Error(Error::Kind::kUser,
                fmt::format("an instruction of {} bytes of text, where {} is the most",
                            value.text.size(),
                            kMaxText));
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, CodeListing>& value) {
  fields("name", value.function.name);
  fields("image", value.function.image);
  fields.unless_empty("build_id", value.function.build_id);
  fields("step", value.step);
  fields("samples", value.samples, kNumber);
  fields.unless_empty("counts", value.counts, counts_json, counts_from);
  fields("samples_of_profile", value.of_profile, kNumber);
  fields("alike", value.alike, kNumber);
  fields("exact", value.exact);
  fields("bytes", value.bytes, kNumber);
  fields("bytes_listed", value.bytes_listed, kNumber);
  fields("disassembled", value.disassembled, kNumber);
  fields("instructions", value.instructions);
  fields.unless_empty("problem", value.problem);
}

Json to_json(const CodeListing& listing) {
  return json_of<Json>(listing);
}

Json to_json(const std::vector<CodeListing>& listings) {
  return json_of<Json>(listings);
}

std::vector<CodeListing> code_listings_from_json(const nlohmann::json& listings,
                                                 std::size_t blocks) {
  if (!listings.is_array() || listings.size() > kMaxListings) {
    throw Error(Error::Kind::kUser,
                fmt::format("listings are an array of at most {} entries", kMaxListings));
  }
  std::vector<CodeListing> read;
  for (const nlohmann::json& entry : listings) {
    const CodeListing& listing = read.emplace_back(value_from<CodeListing>(JsonObject(entry)));
    check_counts(listing.counts, listing.samples, blocks);
    for (const ListedInstruction& instruction : listing.instructions) {
      check_counts(instruction.counts, instruction.samples, blocks);
    }
  }
  return read;
}

}  // namespace plumb::results
