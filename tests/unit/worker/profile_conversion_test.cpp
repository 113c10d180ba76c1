// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

Profile::Request sample_request() {
  Profile::Request request;
  request.model.name = "squeezenet1.1";
  request.folder = "/profiles/1";
  request.rate = 500.0;
  request.budget = Seconds(3.0);
  request.within = Seconds(4.0);
  request.clock = results::SampledProfile::Clock::kTimer;
  request.chains = true;
  request.layer = "v1:relu";
  return request;
}

Profile sample_profile() {
  Profile profile;
  results::SampledProfile& samples = profile.samples;
  samples.clock = results::SampledProfile::Clock::kCpuClock;
  samples.refused = "cycles: No such file or directory";
  samples.asked_rate = 1000.0;
  samples.rate = 998.5;
  samples.threads = 2;
  samples.lost = 3;
  samples.steps = {{{1, 2}, "v1:conv", "default", false}, {{}, "", "", true}};
  samples.blocks = {{5, Seconds(0.05), Seconds(0.04)}};
  samples.mappings = {{0x1000, 0x2000, 0x10, "/lib/a.so", "beef"},
                      {0xffff'ffff'ff60'0000, 0xffff'ffff'ff60'1000, 0, "", ""}};
  samples.samples = {{0x1234, 1, 0, 1, 1},
                     {0xffff'ffff'ffff'ffff, results::kNoStep, 0, 0, results::kNoChain}};
  samples.chains = {{0x1100}, {0x1200, 0x1300}};
  samples.exact = true;
  profile.code_files = {"code-0.dump"};
  return profile;
}

TEST(ProfileConversion, requests_survive_the_wire) {
  const Profile::Request copy = carried(sample_request());
  EXPECT_EQ(copy.model.name, "squeezenet1.1");
  EXPECT_EQ(copy.folder, "/profiles/1");
  EXPECT_EQ(copy.rate, 500.0);
  EXPECT_EQ(copy.budget, Seconds(3.0));
  EXPECT_EQ(copy.within, Seconds(4.0));
  EXPECT_EQ(copy.clock, results::SampledProfile::Clock::kTimer);
  EXPECT_TRUE(copy.chains);
  EXPECT_EQ(copy.layer, "v1:relu");
  Profile::Request any = sample_request();
  any.clock.reset();
  any.within.reset();
  EXPECT_FALSE(carried(any).clock);
  EXPECT_FALSE(carried(any).within);
}

TEST(ProfileConversion, a_request_is_of_one_mode_a_full_path_and_bounded_numbers) {
  const auto refused = [](const std::function<void(Profile::Request&)>& change) {
    Profile::Request request = sample_request();
    change(request);
    EXPECT_THROW(static_cast<void>(carried(request)), FrameChannel::ProtocolError);
  };
  refused([](auto& request) { request.model.modes.emplace_back(); });
  refused([](auto& request) { request.folder = "profiles"; });
  refused([](auto& request) { request.rate = 0.0; });
  refused([](auto& request) { request.rate = kMaxSamplingRate + 1.0; });
  refused([](auto& request) { request.budget = Seconds(-1.0); });
  refused([](auto& request) { request.budget = 2.0 * kMaxProfileBudget; });
}

TEST(ProfileConversion, profiles_survive_the_wire) {
  const Profile copy = carried(sample_profile());
  const results::SampledProfile& samples = copy.samples;
  EXPECT_EQ(samples.clock, results::SampledProfile::Clock::kCpuClock);
  EXPECT_EQ(samples.refused, "cycles: No such file or directory");
  EXPECT_EQ(samples.asked_rate, 1000.0);
  EXPECT_EQ(samples.rate, 998.5);
  EXPECT_EQ(samples.threads, 2U);
  EXPECT_EQ(samples.lost, 3U);
  ASSERT_EQ(samples.steps.size(), 2U);
  EXPECT_EQ(samples.steps[0].layers, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(samples.steps[0].key, "v1:conv");
  EXPECT_EQ(samples.steps[0].variant, "default");
  EXPECT_TRUE(samples.steps[1].reorder);
  ASSERT_EQ(samples.blocks.size(), 1U);
  EXPECT_EQ(samples.blocks[0].executions, 5U);
  EXPECT_EQ(samples.blocks[0].unsampled, Seconds(0.04));
  ASSERT_EQ(samples.mappings.size(), 2U);
  EXPECT_EQ(samples.mappings[0].end, 0x2000U);
  EXPECT_EQ(samples.mappings[0].build_id, "beef");
  EXPECT_EQ(samples.mappings[1].begin, 0xffff'ffff'ff60'0000U);
  ASSERT_EQ(samples.samples.size(), 2U);
  EXPECT_EQ(samples.samples[0].address, 0x1234U);
  EXPECT_EQ(samples.samples[0].step, 1U);
  EXPECT_EQ(samples.samples[0].thread, 1U);
  EXPECT_EQ(samples.samples[0].chain, 1U);
  EXPECT_EQ(samples.samples[1].address, 0xffff'ffff'ffff'ffffU);
  EXPECT_EQ(samples.samples[1].step, results::kNoStep);
  EXPECT_EQ(samples.samples[1].chain, results::kNoChain);
  EXPECT_EQ(samples.chains, (std::vector<results::CallChain>{{0x1100}, {0x1200, 0x1300}}));
  EXPECT_TRUE(samples.exact);
  EXPECT_EQ(copy.code_files, (std::vector<std::string>{"code-0.dump"}));
}

TEST(ProfileConversion, a_profile_whose_parts_do_not_fit_is_refused) {
  const auto refused = [](const std::function<void(Profile&)>& change) {
    Profile profile = sample_profile();
    change(profile);
    EXPECT_THROW(static_cast<void>(carried(profile)), FrameChannel::ProtocolError);
  };
  refused([](auto& profile) { profile.samples.samples[0].step = 2; });
  refused([](auto& profile) { profile.samples.samples[0].block = 1; });
  refused([](auto& profile) { profile.samples.samples[0].thread = 2; });
  refused([](auto& profile) { profile.samples.samples[0].chain = 2; });
  refused([](auto& profile) { profile.samples.chains[0].resize(kMaxCallDepth + 1); });
  refused([](auto& profile) { profile.samples.blocks[0].executions = 0; });
  refused([](auto& profile) { profile.samples.mappings[1].begin = 0x1800; });
  refused([](auto& profile) { profile.samples.mappings[0].end = 0x1000; });
  refused([](auto& profile) { profile.samples.refused.resize(kMaxProfileTextBytes + 1); });
  refused([](auto& profile) { profile.code_files = {"../code.dump"}; });
  EXPECT_THROW(static_cast<void>(
                   spoilt(sample_profile(), [](auto& profile) { profile["clock"] = "sundial"; })),
               FrameChannel::ProtocolError);
}

TEST(ProfileConversion, a_profile_whose_lists_do_not_fit_is_refused) {
  constexpr int kLists = 7;
  for (int list = 0; list < kLists; ++list) {
    EXPECT_THROW(static_cast<void>(carried(
                     sample_profile(),
                     [&](auto& content) { content.mutable_attachments(list)->push_back('\x01'); })),
                 FrameChannel::ProtocolError)
        << list;
    EXPECT_THROW(static_cast<void>(carried(
                     sample_profile(),
                     [&](auto& content) { content.mutable_attachments(list)->pop_back(); })),
                 FrameChannel::ProtocolError)
        << list;
  }
  EXPECT_THROW(static_cast<void>(carried(sample_profile(),
                                         [](auto& content) { content.add_attachments("more"); })),
               FrameChannel::ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
