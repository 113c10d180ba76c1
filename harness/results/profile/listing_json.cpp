// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/listing_json.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr FieldLimits kNumber{.high = std::int64_t{1} << 53U};
constexpr std::size_t kMaxText = 1000;  // bytes of one instruction

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, ListedInstruction>& value) {
  fields("offset", value.offset, kNumber);
  fields("bytes", value.bytes, kNumber);
  fields("text", value.text);
  fields("samples", value.samples, kNumber);
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

std::vector<CodeListing> code_listings_from_json(const nlohmann::json& listings) {
  if (!listings.is_array() || listings.size() > kMaxListings) {
    throw Error(Error::Kind::kUser,
                fmt::format("listings are an array of at most {} entries", kMaxListings));
  }
  std::vector<CodeListing> read;
  for (const nlohmann::json& entry : listings) {
    read.push_back(value_from<CodeListing>(JsonObject(entry)));
  }
  return read;
}

}  // namespace plumb::results
