// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "tests/support/sample_profile.hpp"

namespace plumb::results {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(StoredProfile, json_holds_all_of_a_profile) {
  const NamedProfile profile = test::stored_profile("01J").profile;
  const nlohmann::ordered_json document = to_json(profile);
  const NamedProfile back = named_profile_from_json(nlohmann::json(document));
  EXPECT_EQ(to_json(back), document);
  EXPECT_EQ(back.functions[1].build_id, "00ff");
  EXPECT_EQ(back.cells[2].step, kNoStep);
  EXPECT_EQ(back.blocks[2].sampled, Seconds(1.0 / 3.0));
}

TEST(StoredProfile, a_function_of_an_earlier_document_has_no_build_id) {
  nlohmann::json document = to_json(test::stored_profile("01J").profile);
  document["functions"][1].erase("build_id");
  EXPECT_EQ(named_profile_from_json(document).functions[1].build_id, "");
}

TEST(StoredProfile, an_earlier_document_has_no_listings) {
  nlohmann::json document = to_json(test::stored_profile("01J").profile);
  document.erase("listings");
  EXPECT_THAT(named_profile_from_json(document).listings, IsEmpty());
}

TEST(StoredProfile, what_a_store_keeps_has_short_listings) {
  NamedProfile profile = test::stored_profile("01J").profile;
  NamedProfile::Listing& listing = profile.listings[0];
  for (std::uint64_t i = 3; i < 200; ++i) {
    listing.instructions.push_back({4 * i, 4, "nop", i});
    listing.samples += i;
  }
  ASSERT_GT(listing.instructions.size(), kMaxKeptInstructions);
  const std::vector<NamedProfile::Listing::Instruction> kept =
      condense_profile(profile).listings[0].instructions;
  EXPECT_THAT(kept, SizeIs(kMaxKeptInstructions));
  EXPECT_EQ(kept.back().offset, 4U * 199U);
}

TEST(BlockCounts, are_ordered_with_one_for_each_block) {
  BlockCounts counts{{0, 1}, {0, 2}};
  order_blocks(counts);
  EXPECT_EQ(counts, (BlockCounts{{0, 3}}));
  counts = {{2, 1}, {0, 2}, {2, 4}, {1, 1}};
  order_blocks(counts);
  EXPECT_EQ(counts, (BlockCounts{{0, 2}, {1, 1}, {2, 5}}));
}

TEST(StoredProfile, blocks_that_are_joined_keep_the_samples_of_instructions) {
  const NamedProfile joined = condense_profile(test::stored_profile("01J").profile, 2);
  EXPECT_THAT(joined.blocks, SizeIs(2));
  EXPECT_EQ(joined.listings[0].counts, (BlockCounts{{0, 40}, {1, 300}}));
  EXPECT_EQ(joined.listings[0].instructions[1].counts, (BlockCounts{{0, 10}, {1, 290}}));
}

TEST(StoredProfile, a_document_of_merged_runs_has_them) {
  NamedProfile profile = test::stored_profile("01J").profile;
  profile.runs = {{"01H", test::at(1.0), "0123456789abcdef", 2}, {"01J", test::at(2.0), "", 1}};
  nlohmann::json document = to_json(profile);
  const NamedProfile read = named_profile_from_json(document);
  EXPECT_EQ(nlohmann::json(to_json(read)), document);
  EXPECT_EQ(read.runs[0].environment, "0123456789abcdef");
  document["runs"][1]["blocks"] = 2;
  EXPECT_THROW((void)named_profile_from_json(document), Error);
}

TEST(StoredProfile, a_document_has_the_blocks_of_processes) {
  nlohmann::json document = to_json(test::stored_profile("01J").profile);
  EXPECT_THAT(named_profile_from_json(document).processes, testing::ElementsAre(2U, 1U));
  document["processes"] = {2, 2};
  EXPECT_THROW((void)named_profile_from_json(document), Error);
  document["processes"] = {3, 0};
  EXPECT_THROW((void)named_profile_from_json(document), Error);
  document["processes"] = {2};
  EXPECT_THROW((void)named_profile_from_json(document), Error);
  document.erase("processes");
  EXPECT_THAT(named_profile_from_json(document).processes, IsEmpty());
}

TEST(StoredProfile, blocks_of_two_processes_are_not_joined) {
  NamedProfile profile = test::stored_profile("01J").profile;
  profile.blocks.resize(7, {1, Seconds(0.1), Seconds(0.1)});
  profile.processes = {1, 6};
  NamedProfile joined = condense_profile(profile, 4);
  EXPECT_THAT(joined.processes, testing::ElementsAre(1U, 2U));
  ASSERT_THAT(joined.blocks, SizeIs(3));
  EXPECT_EQ(joined.blocks[0].executions, 4U) << "the one block of the first process";
  EXPECT_EQ(joined.cells[1].counts, (BlockCounts{{1, 7}})) << "the first of the second process";
  joined = condense_profile(profile, 1);
  EXPECT_THAT(joined.processes, IsEmpty()) << "there are more than blocks";
  EXPECT_THAT(joined.blocks, SizeIs(1));
}

TEST(StoredProfile, a_cell_of_a_block_that_is_not_there_is_refused) {
  nlohmann::json document = to_json(test::stored_profile("01J").profile);
  document["cells"][0]["counts"][1][0] = 3;
  try {
    (void)named_profile_from_json(document);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'counts'"));
  }
}

TEST(StoredProfile, blocks_and_counts_are_decoded_as_they_were) {
  const NamedProfile profile = test::stored_profile("01J").profile;
  const std::string blocks = encode_blocks(profile.blocks);
  const auto decoded = decode_blocks(blocks);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(encode_blocks(*decoded), blocks);
  EXPECT_FALSE(decode_blocks(std::string_view(blocks).substr(1)).has_value());
  const std::string counts = encode_counts(profile.cells[0].counts);
  EXPECT_EQ(counts, std::string("\x00\x28\x02\xAC\x02", 5));
  const auto pairs = decode_counts(counts, 3);
  ASSERT_TRUE(pairs.has_value());
  EXPECT_EQ(encode_counts(*pairs), counts);
  EXPECT_FALSE(decode_counts(counts, 2).has_value()) << "a block beyond the last";
  EXPECT_FALSE(decode_counts(std::string_view(counts).substr(0, 4), 3).has_value());
  EXPECT_FALSE(decode_counts(std::string("\x00\x01\x00\x01", 4), 3).has_value())
      << "the same block twice";
}

TEST(StoredProfile, joined_blocks_keep_all_samples_and_times) {
  NamedProfile profile = test::stored_profile("01J").profile;
  const NamedProfile joined = condense_profile(profile, 2);
  ASSERT_THAT(joined.blocks, SizeIs(2));
  EXPECT_EQ(joined.blocks[0].executions, 8U);
  EXPECT_EQ(joined.blocks[1].executions, 5U);
  EXPECT_DOUBLE_EQ(joined.blocks[0].unsampled.count(), 0.1001);
  ASSERT_THAT(joined.cells, SizeIs(3));
  EXPECT_THAT(joined.cells[0].counts, SizeIs(2));
  EXPECT_EQ(joined.cells[0].counts[1].block, 1U);
  EXPECT_EQ(joined.cells[1].counts[0].samples, 7U);
  const NamedProfile one = condense_profile(profile, 1);
  ASSERT_THAT(one.cells[0].counts, SizeIs(1));
  EXPECT_EQ(one.cells[0].counts[0].samples, 340U);
  EXPECT_EQ(to_json(condense_profile(profile, 3)), to_json(profile))
      << "few blocks stay as they are";
}

}  // namespace
}  // namespace plumb::results
