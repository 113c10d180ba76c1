// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"

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
                                 "best_variant+channels_last",
                                 "best_variant+checkpointing",
                                 "checkpointing+folded_norms",
                                 "micro_batch+fusion"}) {
    EXPECT_THROW(static_cast<void>(execution_mode_from(text)), Error) << text;
  }
}

TEST(ExecutionMode, has_one_type_at_most) {
  EXPECT_EQ(execution_mode_from("plain").other_type(), "");
  EXPECT_EQ(execution_mode_from("channels_last+fusion").other_type(), "");
  const std::vector<std::string> types = {"bf16", "f16", "int8", "tf32"};
  for (const std::string& one : types) {
    EXPECT_EQ(execution_mode_from("fusion+" + one).other_type(), one);
    for (const std::string& other : types) {
      EXPECT_THROW(static_cast<void>(execution_mode_from(one + "+" + other)), Error);
    }
  }
  try {
    static_cast<void>(execution_mode_from("int8+fusion+f16"));
    FAIL() << "two types";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f16 and int8 exclude each other: use one of them");
  }
}

TEST(ExecutionMode, has_the_model_s_own_layers_but_in_other_types_and_with_folded_norms) {
  for (const char* const text : {"plain", "best_variant+fusion", "checkpointing", "streams"}) {
    EXPECT_TRUE(execution_mode_from(text).has_own_layers()) << text;
  }
  for (const char* const text : {"bf16", "fusion+int8", "folded_norms", "folded_norms+fusion"}) {
    EXPECT_FALSE(execution_mode_from(text).has_own_layers()) << text;
  }
}

TEST(ExecutionMode, fuses_everything_or_one_family) {
  EXPECT_FALSE(execution_mode_from("best_variant").fuses());
  EXPECT_TRUE(execution_mode_from("fusion").fuses());
  EXPECT_EQ(execution_mode_from("fusion").fusion_family(), "");
  const std::vector<std::string> families = {
      "conv_relu_backward", "fused_optimizer", "gemm_bias", "gemm_gelu", "gemm_relu"};
  for (const std::string& one : families) {
    const ExecutionMode mode = execution_mode_from("best_variant+" + one);
    EXPECT_TRUE(mode.fuses() && !mode.fusion) << one;
    EXPECT_EQ(mode.fusion_family(), one);
    EXPECT_FALSE(mode.has_own_layers()) << one;
    EXPECT_EQ(execution_mode_from(to_text(mode)), mode);
    EXPECT_THROW(static_cast<void>(execution_mode_from("fusion+" + one)), Error);
    for (const std::string& other : families) {
      EXPECT_THROW(static_cast<void>(execution_mode_from(one + "+" + other)), Error);
    }
  }
}

TEST(ExecutionMode, is_launched_in_one_way_at_most) {
  const std::vector<std::string> ways = {"captured", "eager", "streams", "parallel_branches"};
  for (const std::string& one : ways) {
    const ExecutionMode mode = execution_mode_from("f16+" + one);
    EXPECT_EQ(execution_mode_from(to_text(mode)), mode);
    EXPECT_EQ(mode.has_branches(), one == "streams" || one == "parallel_branches");
    for (const std::string& other : ways) {
      EXPECT_THROW(static_cast<void>(execution_mode_from(one + "+" + other)), Error);
    }
  }
}

TEST(ExecutionMode, lists_every_word_that_it_reads) {
  const std::string words = list_mode_words();
  for (const ExecutionMode& mode : default_modes()) {
    if (mode != ExecutionMode{}) {
      std::string text = to_text(mode);
      EXPECT_THAT(words, testing::HasSubstr(text.substr(0, text.find('+'))));
    }
  }
  EXPECT_THAT(words, testing::HasSubstr(" and tf32"));
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
                                   "f16",
                                   "channels_last+f16",
                                   "tf32",
                                   "fusion+int8",
                                   "best_variant+bf16+fusion"));
}

}  // namespace
}  // namespace plumb::results
