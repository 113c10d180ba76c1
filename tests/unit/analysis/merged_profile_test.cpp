// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/merged_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/profile/explained_change.hpp"
#include "harness/analysis/profile/profile_summary.hpp"
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
results::CodeListing listing_of(const std::string& name, std::uint64_t samples) {
  results::CodeListing listing;
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

TEST(MergedProfile, another_model_or_mode_is_refused) {
  results::NamedProfile merged = layered_profile(50, 0);
  results::NamedProfile other = layered_profile(50, 0);
  other.mode = "plain";
  EXPECT_THROW(merge_profile(other, merged), Error);
}

}  // namespace
}  // namespace plumb::analysis
