// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/listing_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxInstructions = 1'000'000;
constexpr std::size_t kMaxText = 1000;  // bytes of one instruction
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 53U;

std::uint64_t read_number(const JsonObject& object, const char* name) {
  return static_cast<std::uint64_t>(object.integer(name, 0, kMaxNumber));
}

ListedInstruction read_instruction(const JsonObject& object) {
  ListedInstruction instruction{read_number(object, "offset"),
                                read_number(object, "bytes"),
                                object.text("text"),
                                read_number(object, "samples")};
  if (instruction.text.size() > kMaxText) {
    throw Error(Error::Kind::kUser,
                fmt::format("an instruction of {} bytes of text, where {} is the most",
                            instruction.text.size(),
                            kMaxText));
  }
  return instruction;
}

CodeListing read_listing(const JsonObject& object) {
  CodeListing listing;
  listing.function = {object.text("name"), object.text("image"), object.text_or_empty("build_id")};
  listing.step = object.text("step");
  listing.samples = read_number(object, "samples");
  listing.of_profile = read_number(object, "samples_of_profile");
  listing.alike = read_number(object, "alike");
  listing.exact = object.boolean("exact");
  listing.bytes = read_number(object, "bytes");
  listing.bytes_listed = read_number(object, "bytes_listed");
  listing.disassembled = read_number(object, "disassembled");
  for (const nlohmann::json& entry : object.array("instructions", kMaxInstructions)) {
    listing.instructions.push_back(read_instruction(JsonObject(entry)));
  }
  listing.problem = object.text_or_empty("problem");
  return listing;
}

}  // namespace

Json to_json(const CodeListing& listing) {
  Json instructions = Json::array();
  for (const ListedInstruction& instruction : listing.instructions) {
    instructions.push_back({{"offset", instruction.offset},
                            {"bytes", instruction.bytes},
                            {"text", instruction.text},
                            {"samples", instruction.samples}});
  }
  Json json{{"name", listing.function.name}, {"image", listing.function.image}};
  if (!listing.function.build_id.empty()) {
    json["build_id"] = listing.function.build_id;
  }
  json.update({{"step", listing.step},
               {"samples", listing.samples},
               {"samples_of_profile", listing.of_profile},
               {"alike", listing.alike},
               {"exact", listing.exact},
               {"bytes", listing.bytes},
               {"bytes_listed", listing.bytes_listed},
               {"disassembled", listing.disassembled},
               {"instructions", std::move(instructions)}});
  if (!listing.problem.empty()) {
    json["problem"] = listing.problem;
  }
  return json;
}

Json to_json(const std::vector<CodeListing>& listings) {
  Json array = Json::array();
  for (const CodeListing& listing : listings) {
    array.push_back(to_json(listing));
  }
  return array;
}

std::vector<CodeListing> code_listings_from_json(const nlohmann::json& listings) {
  if (!listings.is_array() || listings.size() > kMaxListings) {
    throw Error(Error::Kind::kUser,
                fmt::format("listings are an array of at most {} entries", kMaxListings));
  }
  std::vector<CodeListing> read;
  for (const nlohmann::json& entry : listings) {
    read.push_back(read_listing(JsonObject(entry)));
  }
  return read;
}

}  // namespace plumb::results
