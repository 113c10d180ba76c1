// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/stack_difference.hpp"

#include <gtest/gtest.h>

namespace plumb::analysis {
namespace {

StackDifference::Contents::Library library(const std::string& name,
                                           const std::string& digest,
                                           std::vector<std::string> symbols) {
  return {.name = name,
          .version = "",
          .path = "/lib/" + name,
          .sha256 = digest,
          .size = Bytes{1},
          .symbols = std::move(symbols)};
}

TEST(StackDifference, names_libraries_and_symbols_that_came_and_went) {
  const StackDifference::Contents from{"a",
                                       {library("libdnnl", "1", {"both", "old"}),
                                        library("libgomp", "2", {}),
                                        library("libgone", "3", {})},
                                       {},
                                       {}};
  const StackDifference::Contents to{
      "b", {library("libgomp", "2", {}), library("libdnnl", "4", {"both", "new"})}, {}, {}};
  const StackDifference difference = stack_difference(from, to);
  EXPECT_EQ(difference.same_libraries, 1U);
  ASSERT_EQ(difference.libraries.size(), 2U);
  EXPECT_EQ(difference.libraries[0].from->name, "libdnnl");
  EXPECT_EQ(difference.libraries[0].symbols_added, std::vector<std::string>{"new"});
  EXPECT_EQ(difference.libraries[0].symbols_removed, std::vector<std::string>{"old"});
  EXPECT_EQ(difference.libraries[1].from->name, "libgone");
  EXPECT_FALSE(difference.libraries[1].to.has_value());
}

TEST(StackDifference, puts_lost_support_first_then_the_reference_then_other_choices) {
  const auto key = [](const std::string& name) { return model::LayerKey{"v1:conv;in=" + name}; };
  const StackDifference::Contents from{"a",
                                       {},
                                       {{key("choice"), {"x", "y"}},
                                        {key("same"), {"x", "ref"}},
                                        {key("slow"), {"x", "ref"}},
                                        {key("lost"), {"x"}},
                                        {key("only here"), {"x"}}},
                                       {}};
  const StackDifference::Contents to{"b",
                                     {},
                                     {{key("choice"), {"y", "x"}},
                                      {key("same"), {"x", "ref"}},
                                      {key("slow"), {"ref"}, true},
                                      {key("lost"), {}}},
                                     {}};
  const StackDifference difference = stack_difference(from, to);
  ASSERT_EQ(difference.layers.size(), 3U);
  EXPECT_EQ(difference.layers[0].key, key("lost"));
  EXPECT_EQ(difference.layers[0].to_choice, "");
  EXPECT_EQ(difference.layers[1].key, key("slow"));
  EXPECT_TRUE(difference.layers[1].fell_back);
  EXPECT_EQ(difference.layers[1].removed, std::vector<std::string>{"x"});
  EXPECT_EQ(difference.layers[2].key, key("choice"));
  EXPECT_TRUE(difference.layers[2].added.empty());
  const StackDifference::Kind& conv = difference.kinds.at("conv");
  EXPECT_EQ(conv.layers, 4U);
  EXPECT_EQ(conv.unsupported_to, 1U);
  EXPECT_EQ(conv.variants_from, 7U);
  EXPECT_EQ(conv.variants_to, 5U);
  EXPECT_EQ(conv.other_choice, 3U);
}

TEST(StackDifference, counts_engines_and_what_heuristics_offer) {
  const auto key = [](const std::string& channels) {
    return model::LayerKey{"v1:conv;in=f16[1," + channels + ",14,14],f16[8," + channels +
                           ",1,1]c;out=f16[1,8,14,14];acc=f32;math=strict;dilations=[1,1];group=1;"
                           "pads=[0,0,0,0];strides=[1,1]"};
  };
  results::EngineChoices::Configuration configuration;
  configuration.plan_digest = "planned";
  const auto offer = [&](std::int64_t engines, std::size_t offered) {
    return results::EngineChoices::Offer{
        "NCHW", engines, {{"A", {offered, configuration}, ""}}, ""};
  };
  const StackDifference::Contents from{
      "a", {}, {}, {{key("8"), {}, {offer(5, 3)}}, {key("16"), {}, {offer(5, 2)}}}};
  const StackDifference::Contents to{
      "b",
      {},
      {},
      {{key("8"), {}, {offer(7, 0)}},
       {key("16"), {results::Outcome::Kind::kUnsupported, "not without a device"}, {}}}};
  const StackDifference difference = stack_difference(from, to);
  ASSERT_EQ(difference.engines.size(), 1U);
  const StackDifference::EngineCounts& counts = difference.engines.at("conv");
  EXPECT_EQ(counts.asked, 1U) << "what one cannot be asked for is left out";
  EXPECT_EQ(counts.without_engine_from, 0U);
  EXPECT_EQ(counts.without_engine_to, 1U);
  EXPECT_EQ(counts.engines_from, 5U);
  EXPECT_EQ(counts.engines_to, 7U);
  EXPECT_EQ(counts.offers.at("A"), (std::pair<std::size_t, std::size_t>{3, 0}));
}

}  // namespace
}  // namespace plumb::analysis
