// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/results/engine_choice.hpp"

namespace plumb::results {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSums =
    "v1:conv_integer;in=s8[1,16,9,9],s8[8,16,3,3]c;out=s32[1,8,9,9];acc=s32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";
constexpr const char* kScaled =
    "v1:conv_integer;in=s8[1,16,9,9],s8[8,16,3,3]c,-,-,-,f32[]c,f32[8]c;out=f32[1,8,9,9];acc=s32;"
    "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

struct Pads {
  const char* text;
  const char* result;  ///< extents of the convolution's result
};
constexpr Pads kEven{"[1,1,1,1]", "8,9"};
constexpr Pads kUneven{"[2,0,1,2]", "9,9"};

model::LayerSpec gradient(const std::string& op, const Pads& pads) {
  const std::string of_result = std::string("f32[1,16,") + pads.result + "]";
  const bool of_data = op == "conv_backward_data";
  return model::parse_key(
      {"v1:" + op + ";in=" + of_result +
       (of_data ? ",f32[16,3,3,2];out=f32[1,3,8,8]" : ",f32[1,3,8,8];out=f32[16,3,3,2]") +
       ";acc=f32;math=strict;dilations=[1,1];group=1;" + (of_data ? "" : "outputs=w;") +
       "pads=" + pads.text + ";strides=[1,1]"});
}

TEST(EnginePromise, excludes_precompiled_engines_for_sums_of_integers) {
  EngineChoices::Configuration engine;
  EXPECT_THAT(known_defect(model::parse_key({kSums}), engine), HasSubstr("in 8 bits"));
  EXPECT_FALSE(keeps_promise(model::parse_key({kSums}), engine));
  EXPECT_TRUE(keeps_promise(model::parse_key({kScaled}), engine));
  engine.behaviour_notes = {"RUNTIME_COMPILATION"};
  EXPECT_THAT(known_defect(model::parse_key({kSums}), engine), IsEmpty());
  EXPECT_TRUE(keeps_promise(model::parse_key({kSums}), engine));
}

TEST(EnginePromise, excludes_engines_that_are_wrong_for_gradients_with_uneven_pads) {
  const auto keeps = [](const char* op, const Pads& pads, std::int64_t engine) {
    EngineChoices::Configuration configuration;
    configuration.engine = engine;
    EXPECT_EQ(keeps_promise(gradient(op, pads), configuration),
              known_defect(gradient(op, pads), configuration).empty());
    return keeps_promise(gradient(op, pads), configuration);
  };
  EXPECT_FALSE(keeps("conv_backward_data", kUneven, 50));
  EXPECT_TRUE(keeps("conv_backward_data", kUneven, 1));
  EXPECT_TRUE(keeps("conv_backward_data", kEven, 50));
  for (const std::int64_t engine : {1, 18, 20}) {
    EXPECT_FALSE(keeps("conv_backward_weights", kUneven, engine)) << engine;
    EXPECT_TRUE(keeps("conv_backward_weights", kEven, engine)) << engine;
  }
  EXPECT_TRUE(keeps("conv_backward_weights", kUneven, 67));
}

}  // namespace
}  // namespace plumb::results
