// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/merged_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/error.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::analysis {
namespace {

using testing::SizeIs;

TEST(MergedProfile, samples_of_two_processes_add_up) {
  results::NamedProfile merged = layered_profile(50, 0);
  merge_profile(layered_profile(50, 11), merged);
  EXPECT_THAT(merged.blocks, SizeIs(80));
  EXPECT_THAT(merged.steps, SizeIs(2));
  EXPECT_THAT(merged.functions, SizeIs(3));
  EXPECT_EQ(count_samples(merged, {}),
            count_samples(layered_profile(50, 0), {}) + count_samples(layered_profile(50, 11), {}));
  EXPECT_EQ(count_samples(merged, is_conv),
            count_samples(layered_profile(50, 0), is_conv) +
                count_samples(layered_profile(50, 11), is_conv));
  EXPECT_EQ(summarize_profile(merged).executions, 8000U);
}

TEST(MergedProfile, processes_are_told_apart_and_enough_of_them_are_drawn) {
  results::NamedProfile merged = layered_profile(50, 0);
  for (std::size_t process = 2; process <= GroupedSamples::kMinGroups; ++process) {
    EXPECT_EQ(drawn_unit(merged), GroupedSamples::Unit::kBlock);
    merge_profile(layered_profile(50, 0), merged);
    EXPECT_THAT(merged.processes, SizeIs(process));
  }
  EXPECT_THAT(merged.processes, testing::Each(40U));
  EXPECT_EQ(drawn_unit(merged), GroupedSamples::Unit::kProcess);
  const GroupedSamples samples(merged, rows_of_steps(merged), merged.steps.size() + 1);
  EXPECT_EQ(samples.groups(), GroupedSamples::kMinGroups);
  results::NamedProfile several = layered_profile(50, 0);
  merge_profile(merged, several);
  EXPECT_THAT(several.processes, SizeIs(GroupedSamples::kMinGroups + 1));
}

TEST(MergedProfile, stacks_of_both_stay_or_none) {
  results::NamedProfile more = layered_profile(50, 11);
  more.stacks = {{1, {2}, 7, 1}};
  results::NamedProfile merged = layered_profile(50, 11);
  merge_profile(more, merged);
  EXPECT_THAT(merged.stacks, testing::IsEmpty()) << "those of one half of the samples";
  merged = more;
  merged.functions.insert(merged.functions.begin(), more.functions[0]);
  merged.functions[0].name = "first";
  merged.cells.clear();
  merge_profile(more, merged);
  ASSERT_THAT(merged.stacks, SizeIs(2));
  EXPECT_EQ(merged.stacks[1].step, 1U);
  EXPECT_THAT(merged.stacks[1].functions, testing::ElementsAre(3U));
  EXPECT_EQ(merged.stacks[1].thread, 1U);
}

TEST(MergedProfile, another_program_adds_its_steps) {
  results::NamedProfile other = layered_profile(50, 11);
  other.steps[0].variant = "impl=ref";
  results::NamedProfile merged = layered_profile(50, 0);
  merge_profile(other, merged);
  ASSERT_THAT(merged.steps, SizeIs(3));
  EXPECT_EQ(merged.steps[2].variant, "impl=ref");
  EXPECT_EQ(merged.step_names[2], "conv");
}

/// Returns a listing of two instructions, with samples at the second one.
results::NamedProfile::Listing listing_of(const std::string& name, std::uint64_t samples) {
  results::NamedProfile::Listing listing;
  listing.function = {name, "generated"};
  listing.samples = samples;
  listing.bytes = 6;
  listing.disassembled = 2;
  listing.instructions = {{0, 2, "nop", 0}, {2, 4, "mov rax, 0x7f00", samples}};
  return listing;
}

TEST(MergedProfile, listings_of_equal_code_add_up) {
  results::NamedProfile merged = layered_profile(50, 0);
  merged.listings = {listing_of("kernel", 30), listing_of("eltwise", 20), listing_of("copy", 10)};
  results::NamedProfile more = layered_profile(50, 11);
  more.listings = {
      listing_of("jit:reorder", 15), listing_of("eltwise", 40), listing_of("kernel", 5)};
  more.listings[1].instructions[1].text = "mov rax, 0x7e00";  // another address
  more.listings[2].instructions[1].offset = 3;                // other code of this name
  merge_profile(more, merged);
  ASSERT_THAT(merged.listings, SizeIs(results::kMaxListings));
  EXPECT_EQ(merged.listings[0].function.name, "eltwise");
  EXPECT_EQ(merged.listings[0].samples, 60U);
  EXPECT_EQ(merged.listings[0].instructions[1].samples, 60U);
  EXPECT_EQ(merged.listings[0].of_profile, count_samples(merged, {}));
  EXPECT_EQ(merged.listings[1].samples, 30U) << "the hotter code of this name";
  EXPECT_EQ(merged.listings[2].function.name, "jit:reorder");
}

TEST(MergedProfile, instructions_that_both_listings_keep_stay) {
  results::NamedProfile merged = layered_profile(50, 0);
  merged.listings = {listing_of("kernel", 30)};
  merged.listings[0].counts = {{1, 20}, {3, 10}};
  merged.listings[0].instructions = {{2, 4, "mov rax, 0x7f00", 25, {{1, 20}, {3, 5}}},
                                     {8, 4, "ret", 5, {{3, 5}}}};
  results::NamedProfile more = layered_profile(50, 11);
  more.listings = {listing_of("kernel", 7)};
  more.listings[0].counts = {{0, 7}};
  more.listings[0].instructions = {{0, 2, "nop", 1, {{0, 1}}},
                                   {2, 4, "mov rax, 0x7e00", 6, {{0, 6}}}};
  merge_profile(more, merged);
  ASSERT_THAT(merged.listings, SizeIs(1));
  EXPECT_EQ(merged.listings[0].counts, (results::BlockCounts{{1, 20}, {3, 10}, {40, 7}}));
  ASSERT_THAT(merged.listings[0].instructions, SizeIs(1));
  EXPECT_EQ(merged.listings[0].instructions[0].samples, 31U);
  EXPECT_EQ(merged.listings[0].instructions[0].counts,
            (results::BlockCounts{{1, 20}, {3, 5}, {40, 6}}));
}

/// Returns the profile that a run keeps, of the run's day.
RunMerger::DatedProfile profile_of_day(int day,
                                       results::NamedProfile profile,
                                       const std::string& environment) {
  results::StoredProfile kept = stored(std::move(profile));
  kept.run = "run" + std::to_string(day);
  return {Timestamp(std::chrono::days(day)), "a", environment, std::move(kept)};
}

TEST(RunMerger, merges_the_runs_of_each_environment) {
  RunMerger merger(8);
  for (int day = 1; day <= 8; ++day) {
    merger.add(profile_of_day(day, layered_profile(50, 0), day % 4 == 0 ? "new" : "old"));
  }
  const std::vector<results::NamedProfile> merged = merger.take();
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_THAT(merged[0].runs, SizeIs(6));
  EXPECT_THAT(merged[0].blocks, SizeIs(6 * 40));
  EXPECT_EQ(drawn_unit(merged[0]), GroupedSamples::Unit::kRun);
  EXPECT_EQ(merged[1].runs.back().run, "run8") << "that of the newest run comes last";
  EXPECT_EQ(merged[1].runs.back().environment, "new");
  EXPECT_EQ(drawn_unit(merged[1]), GroupedSamples::Unit::kBlock);
  EXPECT_EQ(count_samples(merged[1], {}), 2 * count_samples(layered_profile(50, 0), {}));
  EXPECT_THAT(merger.take(), testing::IsEmpty());
}

TEST(RunMerger, many_runs_have_no_more_blocks) {
  RunMerger merger(400);
  for (int day = 1; day <= 400; ++day) {
    merger.add(profile_of_day(day, layered_profile(50, 0), "old"));
  }
  const std::vector<results::NamedProfile> merged = merger.take();
  ASSERT_THAT(merged, SizeIs(1));
  EXPECT_THAT(merged[0].blocks, SizeIs(RunMerger::kMaxMergedBlocks));
  EXPECT_EQ(count_samples(merged[0], {}), 400 * count_samples(layered_profile(50, 0), {}));
}

TEST(RunMerger, modes_are_not_mixed) {
  results::NamedProfile plain = layered_profile(50, 0);
  plain.mode = "plain";
  RunMerger merger(2);
  merger.add(profile_of_day(1, plain, "old"));
  merger.add(profile_of_day(2, layered_profile(50, 0), "old"));
  EXPECT_THAT(merger.take(), SizeIs(2));
}

TEST(MergedProfile, another_model_or_mode_is_refused) {
  results::NamedProfile merged = layered_profile(50, 0);
  results::NamedProfile other = layered_profile(50, 0);
  other.mode = "plain";
  EXPECT_THROW(merge_profile(other, merged), Error);
}

}  // namespace
}  // namespace plumb::analysis
