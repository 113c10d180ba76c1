// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/base/error.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "tests/support/sample_profile.hpp"

namespace plumb::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// Returns 1000 instructions of four bytes, with samples at some.
NamedProfile::Listing listing_of(
    const std::vector<std::pair<std::size_t, std::uint64_t>>& samples) {
  NamedProfile::Listing listing;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    listing.instructions.push_back({4 * i, 4, "nop", 0});
  }
  for (const auto& [place, count] : samples) {
    listing.instructions[place].samples = count;
    listing.samples += count;
  }
  listing.disassembled = listing.instructions.size();
  return listing;
}

std::vector<std::uint64_t> offsets_of(const NamedProfile::Listing& listing) {
  std::vector<std::uint64_t> offsets;
  for (const NamedProfile::Listing::Instruction& instruction : listing.instructions) {
    offsets.push_back(instruction.offset / 4);
  }
  return offsets;
}

TEST(CodeListing, is_shortened_to_what_is_around_hot_instructions) {
  const NamedProfile::Listing all = listing_of({{0, 50}, {500, 100}, {999, 30}, {700, 20}});
  EXPECT_THAT(offsets_of(shorten_listing(all, kAny)),
              ElementsAre(0, 1, 2, 498, 499, 500, 501, 502, 997, 998, 999));
  EXPECT_EQ(shorten_listing(all, kAny).disassembled, 1000U);
}

TEST(CodeListing, has_nine_tenths_of_the_samples_or_as_many_instructions_as_there_is_room_for) {
  for (const std::size_t places : {1U, 9U, 90U, 900U}) {
    std::vector<std::pair<std::size_t, std::uint64_t>> samples;
    for (std::size_t i = 0; i < places; ++i) {
      samples.emplace_back(i * 1000 / places, 1 + i % 7);
    }
    const NamedProfile::Listing all = listing_of(samples);
    for (const std::size_t most : {1U, 20U, 100U, 1000U}) {
      const NamedProfile::Listing left = shorten_listing(all, most);
      std::uint64_t kept = 0;
      for (const NamedProfile::Listing::Instruction& instruction : left.instructions) {
        kept += instruction.samples;
      }
      EXPECT_LE(left.instructions.size(), most);
      EXPECT_TRUE(10 * kept >= 9 * all.samples || left.instructions.size() == most)
          << places << " places, at most " << most << ": " << kept << " of " << all.samples;
      EXPECT_EQ(offsets_of(shorten_listing(left, most)), offsets_of(left)) << "shortened again";
    }
  }
}

TEST(CodeListing, keeps_the_hottest_where_room_is_short) {
  const NamedProfile::Listing all = listing_of({{10, 50}, {500, 100}, {502, 30}, {700, 40}});
  EXPECT_THAT(shorten_listing(all, 17).instructions, SizeIs(17));
  EXPECT_THAT(offsets_of(shorten_listing(all, 16)),
              ElementsAre(9, 10, 11, 499, 500, 501, 502, 503, 699, 700, 701));
  EXPECT_THAT(offsets_of(shorten_listing(all, 10)), ElementsAre(10, 500, 502, 700));
  EXPECT_THAT(offsets_of(shorten_listing(all, 2)), ElementsAre(10, 500));
  EXPECT_THAT(shorten_listing(listing_of({}), kAny).instructions, IsEmpty());
}

TEST(CodeListing, json_holds_all_of_it) {
  const std::vector<NamedProfile::Listing> listings = test::stored_profile("01J").profile.listings;
  const nlohmann::ordered_json document = to_json(listings);
  EXPECT_EQ(to_json(code_listings_from_json(nlohmann::json(document), 3)), document);
  ASSERT_THAT(listings, SizeIs(2));
  EXPECT_EQ(document[0]["instructions"][1]["samples"], 300);
  EXPECT_THAT(document[1]["problem"], HasSubstr("no symbol"));
}

TEST(CodeListing, json_of_an_earlier_version_has_no_samples_by_block) {
  nlohmann::json document = to_json(test::stored_profile("01J").profile.listings);
  document[0].erase("counts");
  document[0]["instructions"][0].erase("counts");
  const std::vector<NamedProfile::Listing> read = code_listings_from_json(document, 3);
  EXPECT_THAT(read[0].counts, IsEmpty());
  EXPECT_THAT(read[0].instructions[0].counts, IsEmpty());
  EXPECT_EQ(read[0].instructions[0].samples, 40U);
}

TEST(CodeListing, json_from_outside_is_bounded) {
  const nlohmann::json document = to_json(test::stored_profile("01J").profile.listings);
  const auto refusal = [](const nlohmann::json& changed) {
    try {
      (void)code_listings_from_json(changed, 3);
      return std::string("nothing was thrown");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  nlohmann::json changed = document;
  changed[0]["instructions"][0]["text"] = std::string(2000, 'x');
  EXPECT_THAT(refusal(changed), HasSubstr("2000 bytes"));
  changed = document;
  changed[0]["instructions"][0]["samples"] = -1;
  EXPECT_THAT(refusal(changed), HasSubstr("samples"));
  changed = document;
  changed[0].erase("instructions");
  EXPECT_THAT(refusal(changed), HasSubstr("instructions"));
  changed = document;
  changed[0]["instructions"][0]["counts"][1][0] = 3;
  EXPECT_THAT(refusal(changed), HasSubstr("'counts'")) << "a block that the profile has not";
  changed = document;
  changed[0]["counts"][0][1] = 41;
  EXPECT_THAT(refusal(changed), HasSubstr("'counts'")) << "more samples than the listing has";
  changed = document;
  changed[0]["counts"][0] = changed[0]["counts"][1];
  EXPECT_THAT(refusal(changed), HasSubstr("'counts'")) << "a block twice";
  changed = document;
  changed.insert(changed.end(), {document[0], document[0]});
  EXPECT_THAT(refusal(changed), HasSubstr("at most 3"));
  EXPECT_THAT(refusal(nlohmann::json::object()), HasSubstr("array"));
}

}  // namespace
}  // namespace plumb::results
