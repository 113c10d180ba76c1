// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_shares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::analysis {
namespace {

std::vector<GroupedSamples::Share> function_shares(const results::NamedProfile& profile,
                                                   std::uint64_t seed = 1) {
  return compute_shares(
      GroupedSamples(profile, rows_of_functions(profile), profile.functions.size()), seed);
}

TEST(NamedSamples, are_counted_by_step_function_and_block) {
  const results::NamedProfile profile = ProfileBuilder()
                                            .block()
                                            .samples("conv", {"f", "lib.so"}, 3)
                                            .samples("pool", {"f", "lib.so"}, 1)
                                            .block()
                                            .samples("conv", {"g", "lib.so"}, 2)
                                            .samples("conv", {"f", "lib.so"}, 4)
                                            .samples("", {"", "libc.so.6"}, 1)
                                            .build();
  ASSERT_EQ(profile.cells.size(), 4U);
  ASSERT_EQ(profile.cells[0].counts.size(), 2U);
  EXPECT_EQ(profile.cells[0].counts[0].samples, 3U);
  EXPECT_EQ(profile.cells[0].counts[1].block, 1U);
  EXPECT_EQ(profile.cells[0].counts[1].samples, 4U);
  EXPECT_EQ(profile.cells[3].step, results::kNoStep);
}

TEST(ProfileSummary, tells_what_is_assigned_and_what_sampling_costs) {
  ProfileBuilder builder;
  for (int i = 0; i < 8; ++i) {
    builder.block(0.05, 10).samples("conv", {"f", "a.so"}, 8).samples("", {"", "b.so"}, 2);
  }
  results::NamedProfile profile = builder.build();
  for (results::SampledProfile::Block& block : profile.blocks) {
    block.sampled = Seconds(0.051);
  }
  const ProfileSummary summary = summarize_profile(profile);
  EXPECT_EQ(summary.samples, 80U);
  EXPECT_DOUBLE_EQ(summary.in_steps, 0.8);
  EXPECT_DOUBLE_EQ(summary.in_functions, 0.8);
  EXPECT_EQ(summary.executions, 80U);
  EXPECT_NEAR(summary.execution.count(), 0.005, 1e-12);
  ASSERT_TRUE(summary.cost);
  EXPECT_NEAR(*summary.cost, 0.02, 1e-9);
  EXPECT_FALSE(is_always_sampled(profile));
  ASSERT_TRUE(summary.cost_interval);
  EXPECT_NEAR(summary.cost_interval->high, 0.02, 1e-9);
  EXPECT_EQ(name_of({"", "b.so"}), "[b.so]");
  EXPECT_EQ(name_of({"", "[vdso]"}), "[vdso]");
}

TEST(ProfileSummary, blocks_that_were_all_sampled_have_their_time_and_no_known_cost) {
  results::NamedProfile profile = equal_blocks(8, {{"f", 10}}).build();
  for (results::SampledProfile::Block& block : profile.blocks) {
    block.unsampled = Seconds(0.0);
  }
  const ProfileSummary summary = summarize_profile(profile);
  EXPECT_NEAR(summary.execution.count(), 0.01, 1e-12);
  EXPECT_FALSE(summary.cost);
  EXPECT_TRUE(is_always_sampled(profile));
  EXPECT_NEAR(
      GroupedSamples(profile, rows_of_functions(profile), 1).execution_seconds(), 0.01, 1e-12);
}

TEST(ProfileSummary, few_pairs_have_no_interval_and_no_samples_no_shares) {
  EXPECT_FALSE(summarize_profile(equal_blocks(5, {{"f", 1}}).build()).cost_interval);
  const ProfileSummary empty = summarize_profile(ProfileBuilder().build());
  EXPECT_EQ(empty.samples, 0U);
  EXPECT_EQ(empty.in_steps, 0.0);
  EXPECT_EQ(empty.pairs, 0U);
  EXPECT_FALSE(empty.cost);
}

TEST(ProfileShares, equal_blocks_leave_no_doubt) {
  const auto shares = function_shares(equal_blocks(20, {{"f", 30}, {"g", 10}}).build());
  EXPECT_EQ(shares[0].samples, 600U);
  EXPECT_DOUBLE_EQ(shares[0].share, 0.75);
  ASSERT_TRUE(shares[0].interval);
  EXPECT_NEAR(shares[0].interval->low, 0.75, 1e-9);
  EXPECT_NEAR(shares[0].interval->high, 0.75, 1e-9);
}

TEST(ProfileShares, blocks_that_differ_widen_the_interval) {
  ProfileBuilder builder;
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t more = i % 2 == 0 ? 20 : 0;
    builder.block()
        .samples("conv", {"f", "generated"}, 40 + more)
        .samples("conv", {"g", "generated"}, 60 - more);
  }
  const auto shares = function_shares(builder.build());
  // Of means of 20 blocks that are 0.4 or 0.6, the standard deviation is 0.1 / sqrt(20).
  ASSERT_TRUE(shares[0].interval);
  const double half = 1.96 * 0.1 / std::sqrt(20.0);
  EXPECT_NEAR(shares[0].interval->low, 0.5 - half, 0.012);
  EXPECT_NEAR(shares[0].interval->high, 0.5 + half, 0.012);
}

TEST(ProfileShares, few_samples_have_the_interval_of_wilson) {
  const auto shares = function_shares(
      equal_blocks(10, {{"f", 99}}).samples("conv", {"rare", "generated"}, 10).build());
  ASSERT_TRUE(shares[1].interval);
  EXPECT_NEAR(shares[1].interval->low, 0.00544, 2e-5);  // of 10 in 1000, by hand
  EXPECT_NEAR(shares[1].interval->high, 0.01831, 2e-5);
}

TEST(ProfileShares, too_few_blocks_have_no_interval) {
  EXPECT_FALSE(function_shares(equal_blocks(5, {{"f", 50}}).build())[0].interval);
  EXPECT_TRUE(function_shares(equal_blocks(6, {{"f", 50}}).build())[0].interval);
}

TEST(GroupedSamples, rounds_of_a_bootstrap_weigh_groups_as_often_as_they_were_drawn) {
  ProfileBuilder builder;
  builder.block(0.1, 1).samples("conv", {"f", "a.so"}, 30).samples("conv", {"g", "a.so"}, 10);
  builder.block(0.3, 1).samples("conv", {"f", "a.so"}, 10).samples("conv", {"g", "a.so"}, 50);
  const results::NamedProfile profile = builder.build();
  const GroupedSamples samples(profile, rows_of_functions(profile), 2);
  constexpr std::size_t kRounds = 100;
  GroupedSamples::Drawn drawn(samples.groups(), kRounds);
  std::mt19937_64 random(3);
  for (std::size_t round = 0; round < kRounds; ++round) {
    drawn.draw(round, random);
  }
  const std::vector<double> of_all = samples.samples(drawn);
  const std::vector<double> shares = samples.shares(0, drawn, of_all);
  const std::vector<double> seconds = samples.execution_seconds(drawn);
  for (std::size_t round = 0; round < kRounds; ++round) {
    const double first = drawn.of_group(0)[round];
    const double second = drawn.of_group(1)[round];
    ASSERT_EQ(first + second, 2.0);
    EXPECT_DOUBLE_EQ(of_all[round], 40.0 * first + 60.0 * second);
    EXPECT_DOUBLE_EQ(shares[round], (30.0 * first + 10.0 * second) / of_all[round]);
    EXPECT_DOUBLE_EQ(seconds[round], (0.1 * first + 0.3 * second) / 2.0);
  }
}

TEST(NameSamples, calls_end_where_they_leave_the_code) {
  results::SampledProfile samples;
  samples.blocks.resize(1);
  samples.samples = {{.address = 7, .chain = 0}, {.address = 7}};
  samples.chains = {{21, 31, 41}};
  results::NamedProfile::CodeNames names;
  names.functions = {{"f", "a.so"}, {"g", "a.so"}, {"", results::kUnmappedImage}};
  names.addresses = {{7, 0}, {20, 1}, {30, 2}, {40, 1}};
  const results::NamedProfile profile = name_samples(samples, names);
  ASSERT_EQ(profile.stacks.size(), 2U);
  EXPECT_EQ(profile.stacks[0].functions, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(profile.stacks[1].functions, (std::vector<std::uint32_t>{1, 0}));
}

TEST(NameSamples, of_several_threads_have_stacks_that_name_theirs) {
  results::SampledProfile samples;
  samples.blocks.resize(1);
  samples.samples = {{.address = 7}, {.address = 7, .thread = 1}, {.address = 7, .thread = 1}};
  results::NamedProfile::CodeNames names;
  names.functions = {{"f", "a.so"}};
  names.addresses = {{7, 0}};
  const results::NamedProfile profile = name_samples(samples, names);
  ASSERT_EQ(profile.cells.size(), 1U);
  EXPECT_EQ(results::count_samples(profile.cells[0].counts), 3U);
  ASSERT_EQ(profile.stacks.size(), 2U);
  EXPECT_EQ(profile.stacks[0].samples, 1U);
  EXPECT_EQ(profile.stacks[1].samples, 2U);
  EXPECT_EQ(profile.stacks[1].thread, 1U);
  samples.samples.resize(1);
  EXPECT_TRUE(name_samples(samples, names).stacks.empty()) << "of one thread";
}

TEST(NameSamples, blocks_in_any_order_are_counted_in_theirs) {
  results::SampledProfile samples;
  samples.blocks.resize(3);
  for (const std::uint32_t block : {2U, 0U, 2U, 1U, 0U}) {
    samples.samples.push_back({.address = 7, .step = results::kNoStep, .block = block});
  }
  results::NamedProfile::CodeNames names;
  names.functions = {{"f", "a.so"}};
  names.addresses = {{7, 0}};
  const results::NamedProfile profile = name_samples(samples, names);
  ASSERT_EQ(profile.cells.size(), 1U);
  const auto& counts = profile.cells[0].counts;
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ((std::vector{counts[0].samples, counts[1].samples, counts[2].samples}),
            (std::vector<std::uint32_t>{2, 1, 2}));
}

TEST(GroupedSamples, of_steps_have_what_is_between_them_last) {
  const results::NamedProfile profile = ProfileBuilder()
                                            .block()
                                            .samples("conv", {"f", "a.so"}, 3)
                                            .samples("conv", {"g", "a.so"}, 2)
                                            .samples("pool", {"f", "a.so"}, 4)
                                            .samples("", {"g", "a.so"}, 1)
                                            .build();
  const GroupedSamples samples(profile, rows_of_steps(profile), 3);
  EXPECT_EQ(samples.samples(0), 5U);
  EXPECT_EQ(samples.samples(1), 4U);
  EXPECT_EQ(samples.samples(2), 1U);
}

TEST(GroupedSamples, many_blocks_become_groups_without_losing_a_sample) {
  const results::NamedProfile profile = equal_blocks(1001, {{"f", 3}, {"g", 1}}).build();
  const GroupedSamples samples(profile, rows_of_functions(profile), 2);
  EXPECT_EQ(samples.groups(), GroupedSamples::kMaxGroups);
  EXPECT_EQ(samples.samples(), 4004U);
  EXPECT_EQ(samples.samples(0), 3003U);
  EXPECT_NEAR(samples.execution_seconds(), 0.01, 1e-12);
}

TEST(BootstrapInterval, is_wider_for_few_groups) {
  std::vector<double> values;
  for (int i = 0; i <= 1000; ++i) {
    values.push_back(i / 1000.0);
  }
  // t(0.975, 9) / z · sqrt(10 / 9) = 2.262157 / 1.959964 · 1.054093
  const GroupedSamples::Share::Interval few = bootstrap_interval(0.5, values, 10);
  EXPECT_NEAR(few.low, 0.5 - 0.475 * 1.216616, 1e-5);
  EXPECT_NEAR(few.high, 0.5 + 0.475 * 1.216616, 1e-5);
  EXPECT_NEAR(bootstrap_interval(0.5, values, 1'000'000).high, 0.975, 1e-4);
}

}  // namespace
}  // namespace plumb::analysis
