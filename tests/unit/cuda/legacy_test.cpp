// SPDX-License-Identifier: Apache-2.0
// Layers as cuDNN's older calls have them: what is asked for, and that a real cuDNN takes the
// descriptors and counts the same extents. No device takes part.
#include <dlfcn.h>

#include <optional>

#include "harness/base/error.hpp"
#include "runners/cuda/dnn/legacy/legacy_execution.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<LegacyProblem> problems_of(const std::string& key) {
  return legacy_problems(model::parse_key({key}));
}

std::vector<std::string> texts_of(const std::string& key) {
  std::vector<std::string> texts;
  for (const LegacyProblem& problem : problems_of(key)) {
    texts.push_back(problem.text);
  }
  return texts;
}

std::string refusal_of(const std::string& key) {
  try {
    static_cast<void>(problems_of(key));
  } catch (const Unsupported& reason) {
    return reason.what();
  }
  return "";
}

std::string convolution(const std::string& type,
                        const std::string& operands,
                        const std::string& end = "") {
  return "v1:conv;in=" + type + "[2,8,9,7]," + type + "[16,4,3,3]c" + operands + ";out=" + type +
         "[2,16,5,4];acc=f32;math=strict;dilations=[1,1];group=2;pads=[1,1,1,1];strides=[2,2]" +
         end;
}

constexpr const char* kWeightsAndBias =
    "v1:conv_backward_weights;in=bf16[1,8,20],bf16[1,4,20];out=bf16[8,4,5],bf16[8];acc=f32;"
    "math=strict;dilations=[1];group=1;outputs=wb;pads=[2,2];strides=[1]";
constexpr const char* kLargestGradient =
    "v1:max_pool_backward;in=f32[1,3,5,5],f32[1,3,9,9];out=f32[1,3,9,9];acc=f32;math=strict;"
    "ceil_mode=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]";
constexpr const char* kTanhGradient =
    "v1:eltwise_backward;in=f16[40],f16[40];out=f16[40];acc=f32;math=strict;fn=tanh;parameters=[]";

/// Keys of every kind that the older calls have, in all that takes another path.
std::vector<std::string> all_keys() {
  return {
      convolution("f32", ""),
      convolution("f16", ",f16[16]c"),
      convolution("f32", ",f32[16]c,f32[2,16,5,4]", ";epilogue=add@3,relu"),
      convolution("bf16", ",bf16[16]c", ";epilogue=hard_swish"),
      "v1:conv;in=f32[1,4,20],f32[8,4,5]c;out=f32[1,8,20];acc=f32;math=tf32;dilations=[1];group=1;"
      "pads=[2,2];strides=[1]",
      "v1:conv;in=f32[1,4,5,6,7],f32[8,4,3,3,3]c;out=f32[1,8,5,6,7];acc=f32;math=strict;"
      "dilations=[1,1,1];group=1;pads=[1,1,1,1,1,1];strides=[1,1,1]",
      "v1:max_pool;in=f32[1,3,9,9];out=f32[1,3,5,5];acc=f32;math=strict;ceil_mode=0;"
      "dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
      "v1:average_pool;in=f16[1,4,7,7];out=f16[1,4,1,1];acc=f32;math=strict;ceil_mode=0;"
      "count_include_pad=0;dilations=[1,1];kernel=[7,7];pads=[0,0,0,0];strides=[1,1]",
      "v1:softmax;in=f32[3,1000];out=f32[3,1000];acc=f32;math=strict;axis=1;coerce=0;log=0",
      "v1:softmax;in=f32[2,5,4,3];out=f32[2,5,4,3];acc=f32;math=strict;axis=1;coerce=1;log=1",
      "v1:lrn;in=f32[1,16,6,6];out=f32[1,16,6,6];acc=f32;math=strict;alpha=0.001;beta=0.75;"
      "bias=1.0;size=5",
      "v1:batch_norm;in=f32[2,16,5,5],f32[16]c,f32[16]c,f32[16]c,f32[16]c;out=f32[2,16,5,5];"
      "acc=f32;math=strict;epsilon=0.001;mode=spatial",
      "v1:eltwise;in=f32[2,16,5,5];out=f32[2,16,5,5];acc=f32;math=strict;fn=clip;"
      "parameters=[0.0,6.0]",
      "v1:eltwise;in=f16[40];out=f16[40];acc=f32;math=strict;fn=tanh;parameters=[]",
      "v1:binary;in=f32[4,5,6,7],f32[5,1,1];out=f32[4,5,6,7];acc=f32;math=strict;fn=add",
      "v1:conv_backward_data;in=f16[2,16,5,4],f16[16,4,3,3];out=f16[2,8,9,7];acc=f32;math=strict;"
      "dilations=[1,1];group=2;pads=[1,1,1,1];strides=[2,2]",
      "v1:conv_backward_weights;in=f32[2,16,5,4],f32[2,8,9,7];out=f32[16,4,3,3];acc=f32;"
      "math=strict;dilations=[1,1];group=2;outputs=w;pads=[1,1,1,1];strides=[2,2]",
      kWeightsAndBias,
      kLargestGradient,
      "v1:average_pool_backward;in=f16[1,4,1,1];out=f16[1,4,7,7];acc=f32;math=strict;ceil_mode=0;"
      "count_include_pad=0;dilations=[1,1];kernel=[7,7];pads=[0,0,0,0];strides=[1,1]",
      "v1:softmax_backward;in=f32[2,5,4,3],f32[2,5,4,3];out=f32[2,5,4,3];acc=f32;math=strict;"
      "axis=1;coerce=0;log=0",
      "v1:softmax_backward;in=f32[3,10],f32[3,10];out=f32[3,10];acc=f32;math=strict;axis=1;"
      "coerce=0;log=1",
      "v1:eltwise_backward;in=f32[2,16,5],f32[2,16,5];out=f32[2,16,5];acc=f32;math=strict;fn=relu;"
      "parameters=[]",
      kTanhGradient,
  };
}

std::optional<CudnnLibrary> toolkit() {
  try {
    return CudnnLibrary({std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcudnn.so.9"});
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Legacy, a_real_cudnn_takes_every_descriptor_and_counts_the_same_extents) {
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  for (const std::string& key : all_keys()) {
    const std::vector<LegacyProblem> problems = problems_of(key);
    EXPECT_FALSE(problems.empty()) << key;
    for (const LegacyProblem& problem : problems) {
      EXPECT_NO_THROW(const LegacyExecution execution(*library, problem.call))
          << key << " as " << problem.text;
    }
  }
}

TEST(Legacy, cudnn_refuses_extents_that_are_not_its_own) {
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  LegacyCall::Any call = problems_of(convolution("f32", "")).front().call;
  std::get<LegacyCall::Convolution>(call).strides = {1, 1};
  EXPECT_THROW(const LegacyExecution execution(*library, call), Unsupported);
}

TEST(Legacy, asks_for_entry_points_that_cudnn_has) {
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  abi::LegacyCalls calls = library->legacy_calls();
  std::size_t found = 0;
  abi::for_each_legacy_call(calls, [&](auto& call, const char* name) {
    EXPECT_NE(call, nullptr) << name;
    call = nullptr;
    found += 1;
  });
  // One pointer each, and nothing else.
  EXPECT_EQ(found * sizeof(void*), sizeof calls);
}

TEST(Legacy, a_convolution_is_fused_where_the_call_does_all_of_it) {
  EXPECT_THAT(texts_of(convolution("f32", "")), ElementsAre("layout=NCHW", "layout=NHWC"));
  EXPECT_THAT(texts_of(convolution("f32", ",f32[16]c", ";epilogue=relu")),
              ElementsAre("layout=NCHW", "layout=NHWC"));
  EXPECT_THAT(
      texts_of(convolution("f32", ",f32[16]c")),
      ElementsAre(
          "layout=NCHW", "layout=NCHW;steps=apart", "layout=NHWC", "layout=NHWC;steps=apart"))
      << "an algorithm of its own without an activation";
  EXPECT_THAT(texts_of(convolution("f32", ",f32[16]c", ";epilogue=hard_swish")),
              ElementsAre("layout=NCHW;steps=apart", "layout=NHWC;steps=apart"));
}

TEST(Legacy, describes_layouts_groups_and_precision) {
  const auto problems = problems_of(convolution("f32", ",f32[16]c", ";epilogue=relu"));
  const auto& first = std::get<LegacyCall::Convolution>(problems.at(0).call);
  const auto& last = std::get<LegacyCall::Convolution>(problems.at(1).call);
  EXPECT_THAT(first.x.strides, ElementsAre(504, 63, 7, 1));
  EXPECT_THAT(last.x.strides, ElementsAre(504, 1, 56, 8));
  EXPECT_EQ(last.format, abi::LegacyCalls::Format::kChannelsLast);
  EXPECT_EQ(first.groups, 2);
  EXPECT_EQ(first.math, abi::LegacyCalls::Math::kFma) << "no TF32 where the key says strict";
  EXPECT_THAT(first.bias->dimensions, ElementsAre(1, 16, 1, 1));
  EXPECT_EQ(first.y.buffer, 3U);
}

TEST(Legacy, gradients_have_their_operands_where_the_key_has_them) {
  const auto weights =
      std::get<LegacyCall::ConvolutionGradient>(problems_of(kWeightsAndBias).at(1).call);
  EXPECT_TRUE(weights.by_weights);
  EXPECT_EQ(weights.of.y.buffer, 0U) << "dy";
  EXPECT_EQ(weights.of.x.buffer, 1U);
  EXPECT_EQ(weights.of.w.buffer, 2U) << "dw";
  EXPECT_EQ(weights.bias_gradient->buffer, 3U);
  EXPECT_THAT(weights.bias_gradient->dimensions, ElementsAre(1, 8, 1, 1));
  EXPECT_EQ(weights.of.format, abi::LegacyCalls::Format::kChannelsLast);

  const std::vector<LegacyProblem> pools = problems_of(kLargestGradient);
  const auto& pool = std::get<LegacyCall::PoolGradient>(pools.at(0).call);
  EXPECT_EQ(pool.of.x.buffer, 1U);
  EXPECT_EQ(pool.dx.buffer, 2U);
  EXPECT_EQ(pool.of.y.buffer, 3U) << "made by the pool itself";
  EXPECT_THAT(pools[0].made.at(0).dims, ElementsAre(1, 3, 5, 5));
  EXPECT_EQ(pools[0].text, "layout=NCHW;operands=made");

  const std::vector<LegacyProblem> tanh = problems_of(kTanhGradient);
  EXPECT_TRUE(std::get<LegacyCall::FunctionGradient>(tanh.at(0).call).makes_y);
  EXPECT_EQ(tanh[0].made.size(), 1U);
  EXPECT_THAT(refusal_of("v1:eltwise_backward;in=f16[4],f32[4];out=f16[4];acc=f32;math=strict;"
                         "fn=relu;parameters=[]"),
              HasSubstr("several types"));
}

TEST(Legacy, softmax_is_over_axis_one_of_what_it_is_told) {
  const auto problems = problems_of(
      "v1:softmax;in=f32[2,5,4,3];out=f32[2,5,4,3];acc=f32;math=strict;axis=2;coerce=0;log=0");
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(std::get<LegacyCall::Softmax>(problems[0].call).x.dimensions,
              ElementsAre(10, 4, 3, 1));
}

TEST(Legacy, says_what_the_calls_do_not_have) {
  EXPECT_THAT(refusal_of("v1:conv;in=f32[1,3,8,8],f32[16,3,3,2]c;out=f32[1,16,9,9];acc=f32;"
                         "math=strict;dilations=[1,1];group=1;pads=[2,0,1,2];strides=[1,1]"),
              HasSubstr("differ by side"));
  EXPECT_THAT(refusal_of("v1:average_pool;in=f32[1,4,7,7];out=f32[1,4,4,4];acc=f32;math=strict;"
                         "ceil_mode=1;count_include_pad=0;dilations=[1,1];kernel=[2,2];"
                         "pads=[0,0,0,0];strides=[2,2]"),
              HasSubstr("larger than its extents"));
  EXPECT_THAT(refusal_of("v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=mish;"
                         "parameters=[]"),
              HasSubstr("'mish'"));
  EXPECT_THAT(refusal_of("v1:lrn;in=f32[1,16,6,6];out=f32[1,16,6,6];acc=f32;math=strict;"
                         "alpha=0.001;beta=0.75;bias=1.0;size=4"),
              HasSubstr("4 channels"));
  EXPECT_THAT(refusal_of("v1:binary;in=f32[5],f32[4,5];out=f32[4,5];acc=f32;math=strict;fn=add"),
              HasSubstr("left operand"));
  EXPECT_THAT(refusal_of("v1:eltwise;in=s32[4];out=s32[4];acc=s32;math=strict;fn=relu;"
                         "parameters=[]"),
              HasSubstr("s32"));
}

}  // namespace
}  // namespace plumb::cuda
