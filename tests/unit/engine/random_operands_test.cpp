// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/random_operands.hpp"

#include <algorithm>
#include <set>

#include "runners/engine/random_stream.hpp"
#include "tests/unit/engine/layer_builder.hpp"

namespace plumb::engine {
namespace {

using test_support::layer;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Lt;
using ::testing::Ne;

// The published generator's first outputs for seed 0, in any order.
TEST(RandomOperands, draws_from_splitmix64) {
  const RandomStream random(0);
  EXPECT_EQ(random.bits(2), 0x06C45D188009454FU);
  EXPECT_EQ(random.bits(0), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(random.bits(1), 0x6E789E6AA1B965F4U);
  EXPECT_NE(RandomStream(0, 1).bits(0), RandomStream(0, 2).bits(0));
}

TEST(RandomOperands, repeats_with_the_seed_and_differs_without) {
  const model::LayerSpec spec = layer("matmul;in=f32[8,8],bf16[8,8];out=f32[8,8]");
  EXPECT_EQ(random_operands(spec, 1)[0].data, random_operands(spec, 1)[0].data);
  EXPECT_NE(random_operands(spec, 1)[0].data, random_operands(spec, 2)[0].data);
  EXPECT_NE(read_numbers(random_operands(spec, 1)[0]), read_numbers(random_operands(spec, 1)[1]));
}

TEST(RandomOperands, are_what_their_description_says) {
  const model::LayerSpec spec = layer("matmul;in=f32[8,8],s8[8,8];out=f32[8,8]");
  const std::vector<model::Tensor> operands = random_operands(spec, 3);
  for (std::size_t operand = 0; operand < 2; ++operand) {
    const RandomStream random(3, operand);
    const auto how = operand_numbers(spec, operand);
    ASSERT_TRUE(how.has_value());
    EXPECT_EQ(how->whole, operand == 1);
    const std::vector<double> numbers = read_numbers(operands[operand]);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint64_t bits = random.bits(i);
      const double sign = (how->whole ? bits >> 10U : bits) % 2 == 0 ? 1.0 : -1.0;
      const double size = how->whole
                              ? 1.0 + static_cast<double>((bits >> 8U) % 4)
                              : how->low + how->span * static_cast<double>(bits >> 40U) / (1 << 24);
      EXPECT_EQ(numbers[i], static_cast<double>(static_cast<float>(sign * how->scale * size)));
    }
  }
  EXPECT_FALSE(operand_numbers(layer("where;in=bool[4],f32[4],f32[4];out=f32[4]"), 0).has_value());
}

TEST(RandomOperands, are_never_zero_and_have_both_signs) {
  for (const std::string type : {"f32", "bf16", "f16", "s8"}) {
    const model::LayerSpec spec =
        layer("sum;in=" + type + "[999]," + type + "[999]," + type + "[999];out=" + type + "[999]");
    for (const model::Tensor& tensor : random_operands(spec, 5)) {
      const std::vector<double> numbers = read_numbers(tensor);
      EXPECT_THAT(numbers, Each(AllOf(Ne(0.0), Ge(-8.0), Le(8.0)))) << type;
      const auto negative =
          std::count_if(numbers.begin(), numbers.end(), [](double x) { return x < 0; });
      EXPECT_GT(negative, 400) << type;
      EXPECT_LT(negative, 600) << type;
    }
  }
}

TEST(RandomOperands, suit_their_role) {
  const model::LayerSpec norm =
      layer("batch_norm;in=f32[1,9],f32[9]c,f32[9]c,f32[9]c,f32[9]c;out=f32[1,9]",
            "epsilon=0.0;mode=spatial");
  EXPECT_THAT(read_numbers(random_operands(norm, 1)[4]), Each(Ge(0.5)));
  const model::LayerSpec gather =
      layer("gather;in=f32[7,2],s64[500];out=f32[500,2]", "axis=0;distribution=uniform");
  const std::vector<double> indices = read_numbers(random_operands(gather, 1)[1]);
  EXPECT_THAT(indices, Each(AllOf(Ge(0.0), Lt(7.0))));
  EXPECT_EQ(std::set<double>(indices.begin(), indices.end()).size(), 7U);
  const model::LayerSpec logarithm =
      layer("eltwise;in=f16[99];out=f16[99]", "fn=log;parameters=[]");
  EXPECT_THAT(read_numbers(random_operands(logarithm, 1)[0]), Each(Ge(0.5)));
  const model::LayerSpec where = layer("where;in=bool[99],f32[99],f32[99];out=f32[99]");
  const std::vector<double> flags = read_numbers(random_operands(where, 1)[0]);
  EXPECT_EQ(std::set<double>(flags.begin(), flags.end()), (std::set<double>{0.0, 1.0}));
  const model::LayerSpec absent = layer("gemm;in=f32[1,1],f32[1,1],-,f32[1,1];out=f32[1,1]",
                                        "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=add@3");
  EXPECT_TRUE(random_operands(absent, 1)[2].data.empty());
}

}  // namespace
}  // namespace plumb::engine
