// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers as libraries are asked for them: s8 with s8 into s32 by the reference,
// what our kernels do before and behind by those kernels on the host.
#include "runners/cuda/builtin/integer_variants.hpp"

#include "harness/model/key/operator_families.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "tests/contract/layer_cases.hpp"
#include "tests/unit/cuda/host_plan.hpp"

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMore[] = {
    "v1:matmul_integer;in=u8[32],s8[2,32,4]c,u8[1],-,f32[],f32[4],-,-,f32[2,1];out=f32[2,4];"
    "acc=s32;math=strict;epilogue=mul@8,tanh",
    "v1:matmul_integer;in=u8[3,5,32],s8[3,32,4],u8[];out=s32[3,5,4];acc=s32;math=strict",
    "v1:matmul_integer;in=u8[5,32],s8[32];out=s32[5];acc=s32;math=strict;epilogue=clip(-9.0,9.0)",
    "v1:matmul_integer;in=s8[2,1,5,32],s8[3,32,4]c,s8[]c;out=s32[2,3,5,4];acc=s32;math=strict",
    "v1:conv_integer;in=u8[2,8,11]c,s8[6,4,3],s32[6],u8[]c;out=s32[2,6,10];acc=s32;math=strict;"
    "dilations=[2];group=2;pads=[1,2];strides=[1];epilogue=relu",
    "v1:conv_integer;in=s8[1,4,5,6,7],s8[6,4,2,3,1],-,s8[],-,f32[],f32[],f32[],s8[],f32[6,1,1,1];"
    "out=s8[1,6,4,3,4];acc=s32;math=strict;dilations=[1,1,1];group=1;pads=[0,0,0,0,1,0];"
    "strides=[1,2,2];epilogue=mul@9,hard_swish",
    "v1:conv_integer;in=s8[1,4,6,6],s8[6,4,3,3]c,-,s8[]c;out=s32[1,6,4,4];acc=s32;math=strict;"
    "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]",
};

/// Lists the keys of integer products that libraries have a part in.
std::vector<model::LayerSpec> products() {
  std::vector<model::LayerSpec> specs;
  const auto add = [&](const std::string& key) {
    const model::LayerSpec spec = model::parse_key({key});
    if (model::is_integer_product(spec) && spec.inputs[1]->dtype == model::DataType::kS8) {
      specs.push_back(spec);
    }
  };
  for (const contract::LayerCase& each : contract::layer_cases()) {
    add(std::string(each.key));
  }
  for (const char* const key : kMore) {
    add(key);
  }
  return specs;
}

TEST(IntegerVariants, mean_what_the_key_says_in_each_layout) {
  HostKernels kernels;
  struct Built {
    model::LayerSpec spec;
    std::string text;
    ExecutionPlan plan;
  };
  std::vector<Built> layers;
  for (const model::LayerSpec& spec : products()) {
    for (const VariantBuilder& builder : host_builders(spec, kernels)) {
      layers.push_back({spec, builder.text, builder.build()});
    }
  }
  EXPECT_GT(layers.size(), 25U);
  kernels.compile();
  for (const Built& layer : layers) {
    const std::vector<model::Tensor> operands = engine::random_operands(layer.spec, 5);
    const std::vector<model::Tensor> outputs =
        run_plan(layer.plan, layer.spec.outputs, [&](std::size_t i) -> const model::Tensor& {
          return operands.at(i);
        });
    const engine::Verifier::Verdict verdict = engine::verify(layer.spec, operands, outputs);
    EXPECT_TRUE(verdict.outcome.ok())
        << model::to_key(layer.spec).text << " as " << layer.text << ": " << verdict.outcome.reason;
  }
}

TEST(IntegerVariants, what_is_made_of_constants_is_made_once) {
  HostKernels kernels;
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv_integer;in=u8[1,16,9,9],s8[24,16,3,3]c,-,u8[]c;out=s32[1,24,9,9];"
       "acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"});
  const VariantBuilder builder = host_builders(spec, kernels).at(0);
  EXPECT_EQ(builder.text, "impl=host;layout=NHWC;operands=shifted;scales=apart");
  const ExecutionPlan plan = builder.build();
  EXPECT_EQ(plan.once.size(), 1U) << "the filters' sums";
  EXPECT_EQ(plan.steps.size(), 3U) << "shift, convolution, what follows";
  std::size_t weights = 0;
  for (const DeviceBuffer& buffer : plan.buffers) {
    weights += buffer.weight && buffer.role == DeviceBuffer::Role::kIntermediate ? 1U : 0U;
  }
  EXPECT_EQ(weights, 1U);
}

TEST(IntegerVariants, nothing_is_put_around_what_a_library_does_as_it_is) {
  HostKernels kernels;
  const model::LayerSpec spec = model::parse_key(
      {"v1:matmul_integer;in=s8[5,32],s8[32,16]c;out=s32[5,16];acc=s32;math=strict"});
  EXPECT_EQ(host_builders(spec, kernels).at(0).text, "impl=host");
}

TEST(IntegerVariants, say_what_no_library_multiplies) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(integer_product_of(model::parse_key({key})));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:matmul_integer;in=u8[5,32],u8[32,8];out=s32[5,8];acc=s32;math=strict"),
              HasSubstr("weights of u8"));
  EXPECT_THAT(
      refusal("v1:matmul_integer;in=u8[5,32],s8[32,8],-,s8[];out=s32[5,8];acc=s32;math=strict"),
      HasSubstr("zero point"));
  EXPECT_THAT(
      refusal("v1:matmul_integer;in=u8[5,32],s8[32,8],s8[];out=s32[5,8];acc=s32;math=strict"),
      HasSubstr("another type"));
}

}  // namespace
}  // namespace plumb::cuda
