// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution_mode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

TEST(ExecutionMode, is_plain_when_nothing_is_on) {
  EXPECT_EQ(to_text(ExecutionMode{}), "plain");
  EXPECT_EQ(execution_mode_from("plain"), ExecutionMode{});
}

TEST(ExecutionMode, has_one_text_whatever_the_order) {
  const ExecutionMode mode = execution_mode_from("fusion+best_variant");
  EXPECT_TRUE(mode.fusion && mode.best_variant && !mode.bf16);
  EXPECT_EQ(to_text(mode), "best_variant+fusion");
}

TEST(ExecutionMode, refuses_unknown_and_repeated_words) {
  for (const char* const text : {"",
                                 "fast",
                                 "plain+fusion",
                                 "fusion+",
                                 "fusion+fusion",
                                 "Fusion",
                                 "best_variant+channels_last"}) {
    EXPECT_THROW(static_cast<void>(execution_mode_from(text)), Error) << text;
  }
}

TEST(ExecutionMode, executes_by_default_each_what_if_alone_and_all_together) {
  std::vector<std::string> texts;
  for (const ExecutionMode& mode : default_modes()) {
    texts.push_back(to_text(mode));
  }
  EXPECT_THAT(texts,
              testing::ElementsAre("plain",
                                   "best_variant",
                                   "fusion",
                                   "best_variant+fusion",
                                   "channels_last",
                                   "bf16",
                                   "fusion+int8",
                                   "best_variant+bf16+fusion"));
}

}  // namespace
}  // namespace plumb::results
