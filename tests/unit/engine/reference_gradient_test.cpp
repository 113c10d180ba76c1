// SPDX-License-Identifier: Apache-2.0
// Gradients against their definition: how the sum of dy·y changes with each number that the layer
// reads, by central differences of the forward reference in float64.
#include <cmath>
#include <ostream>
#include <set>

#include "harness/base/error.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "tests/unit/engine/layer_builder.hpp"

namespace plumb::engine {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using Numbers = std::vector<std::vector<double>>;

model::LayerSpec exact(const std::string& text) {
  return model::parse_key({"v1:" + text});
}

Numbers random_numbers(const model::LayerSpec& spec, std::uint64_t seed) {
  Numbers numbers;
  for (const model::Tensor& operand : random_operands(spec, seed)) {
    numbers.push_back(operand.data.empty() ? std::vector<double>{} : read_numbers(operand));
  }
  return numbers;
}

double weighted(const model::LayerSpec& layer,
                const Numbers& operands,
                const std::vector<double>& dy) {
  const std::vector<double> y = test_support::outputs(layer, operands);
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += dy.at(i) * y[i];
  }
  return sum;
}

std::vector<double> slopes(const model::LayerSpec& layer,
                           const Numbers& operands,
                           std::size_t operand,
                           const std::vector<double>& dy) {
  constexpr double kStep = 1e-5;
  std::vector<double> result;
  for (std::size_t i = 0; i < operands.at(operand).size(); ++i) {
    Numbers moved = operands;
    moved[operand][i] += kStep;
    const double above = weighted(layer, moved, dy);
    moved[operand][i] -= 2.0 * kStep;
    result.push_back((above - weighted(layer, moved, dy)) / (2.0 * kStep));
  }
  return result;
}

std::vector<std::vector<double>> gradients(const model::LayerSpec& spec, const Numbers& operands) {
  std::vector<std::vector<double>> results;
  for (const model::Tensor& output :
       reference_outputs(spec, test_support::operands(spec, operands))) {
    results.push_back(read_numbers(output));
  }
  return results;
}

/// Layer, its gradient, and which of the layer's operands each of the gradient's outputs
/// belongs to. The gradient reads dy and those of the layer's operands.
struct Pair {
  const char* layer;
  const char* gradient;
  std::vector<std::size_t> reads;
  std::vector<std::size_t> gives;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.gradient;
}

class GradientPairs : public ::testing::TestWithParam<Pair> {};

TEST_P(GradientPairs, follow_the_slope_of_the_layer) {
  const model::LayerSpec layer = exact(GetParam().layer);
  const model::LayerSpec gradient = exact(GetParam().gradient);
  const Numbers operands = random_numbers(layer, 3);
  Numbers given{random_numbers(gradient, 4).at(0)};
  for (const std::size_t operand : GetParam().reads) {
    given.push_back(operands.at(operand));
  }
  const auto found = gradients(gradient, given);
  ASSERT_EQ(found.size(), GetParam().gives.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_THAT(found[i],
                Pointwise(DoubleNear(1e-6), slopes(layer, operands, GetParam().gives[i], given[0])))
        << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions,
    GradientPairs,
    ::testing::Values(
        Pair{"conv;in=f64[2,4,7,6],f64[6,2,3,2];out=f64[2,6,3,3];acc=f64;math=strict;"
             "dilations=[1,2];group=2;pads=[1,0,0,1];strides=[2,2]",
             "conv_backward_data;in=f64[2,6,3,3],f64[6,2,3,2];out=f64[2,4,7,6];acc=f64;"
             "math=strict;dilations=[1,2];group=2;pads=[1,0,0,1];strides=[2,2]",
             {1},
             {0}},
        Pair{"conv;in=f64[2,4,7,6],f64[6,2,3,2],f64[6];out=f64[2,6,3,3];acc=f64;math=strict;"
             "dilations=[1,2];group=2;pads=[1,0,0,1];strides=[2,2]",
             "conv_backward_weights;in=f64[2,6,3,3],f64[2,4,7,6];out=f64[6,2,3,2],f64[6];acc=f64;"
             "math=strict;dilations=[1,2];group=2;outputs=wb;pads=[1,0,0,1];strides=[2,2]",
             {0},
             {1, 2}},
        Pair{"conv;in=f64[2,3,9],f64[4,3,3];out=f64[2,4,9];acc=f64;math=strict;dilations=[1];"
             "group=1;pads=[1,1];strides=[1]",
             "conv_backward_weights;in=f64[2,4,9],f64[2,3,9];out=f64[4,3,3];acc=f64;math=strict;"
             "dilations=[1];group=1;outputs=w;pads=[1,1];strides=[1]",
             {0},
             {1}},
        Pair{"conv;in=f64[1,2,3,4,5],f64[2,2,2,2,2];out=f64[1,2,2,3,4];acc=f64;math=strict;"
             "dilations=[1,1,1];group=1;pads=[0,0,0,0,0,0];strides=[1,1,1]",
             "conv_backward_data;in=f64[1,2,2,3,4],f64[2,2,2,2,2];out=f64[1,2,3,4,5];acc=f64;"
             "math=strict;dilations=[1,1,1];group=1;pads=[0,0,0,0,0,0];strides=[1,1,1]",
             {1},
             {0}}));

INSTANTIATE_TEST_SUITE_P(
    Pools,
    GradientPairs,
    ::testing::Values(
        Pair{"max_pool;in=f64[2,3,7,6];out=f64[2,3,4,3];acc=f64;math=strict;ceil_mode=1;"
             "dilations=[1,1];kernel=[3,2];pads=[1,0,0,1];strides=[2,2]",
             "max_pool_backward;in=f64[2,3,4,3],f64[2,3,7,6];out=f64[2,3,7,6];acc=f64;math=strict;"
             "ceil_mode=1;dilations=[1,1];kernel=[3,2];pads=[1,0,0,1];strides=[2,2]",
             {0},
             {0}},
        Pair{"gather;in=f64[3,7,4],s64[2,5];out=f64[3,2,5,4];acc=f64;math=strict;axis=1;"
             "distribution=uniform",
             "gather_backward;in=f64[3,2,5,4],s64[2,5];out=f64[3,7,4];acc=f64;math=strict;axis=1;"
             "distribution=uniform",
             {1},
             {0}},
        Pair{"average_pool;in=f64[2,3,7,6];out=f64[2,3,4,3];acc=f64;math=strict;ceil_mode=0;"
             "count_include_pad=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
             "average_pool_backward;in=f64[2,3,4,3];out=f64[2,3,7,6];acc=f64;math=strict;"
             "ceil_mode=0;count_include_pad=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];"
             "strides=[2,2]",
             {},
             {0}},
        Pair{"average_pool;in=f64[2,3,7,6];out=f64[2,3,4,3];acc=f64;math=strict;ceil_mode=0;"
             "count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
             "average_pool_backward;in=f64[2,3,4,3];out=f64[2,3,7,6];acc=f64;math=strict;"
             "ceil_mode=0;count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];"
             "strides=[2,2]",
             {},
             {0}}));

class GradientsOfFunctions : public ::testing::TestWithParam<const char*> {};

TEST_P(GradientsOfFunctions, follow_the_slope_of_the_function) {
  const std::string attributes =
      std::string(";acc=f64;math=strict;fn=") + GetParam();  // and its parameters
  const model::LayerSpec layer = exact("eltwise;in=f64[40];out=f64[40]" + attributes);
  const model::LayerSpec gradient =
      exact("eltwise_backward;in=f64[40],f64[40];out=f64[40]" + attributes);
  const Numbers given = random_numbers(gradient, 6);
  EXPECT_THAT(gradients(gradient, given).at(0),
              Pointwise(DoubleNear(1e-6), slopes(layer, {given[1]}, 0, given[0])));
}

INSTANTIATE_TEST_SUITE_P(All,
                         GradientsOfFunctions,
                         ::testing::Values("relu;parameters=[]",
                                           "leaky_relu;parameters=[0.1]",
                                           "elu;parameters=[1.5]",
                                           "selu;parameters=[1.67,1.05]",
                                           "celu;parameters=[0.7]",
                                           "sigmoid;parameters=[]",
                                           "tanh;parameters=[]",
                                           "softplus;parameters=[]",
                                           "softsign;parameters=[]",
                                           "hard_sigmoid;parameters=[0.2,0.5]",
                                           "hard_swish;parameters=[]",
                                           "silu;parameters=[]",
                                           "gelu_erf;parameters=[]",
                                           "gelu_tanh;parameters=[]",
                                           "mish;parameters=[]",
                                           "thresholded_relu;parameters=[1.5]",
                                           "clip;parameters=[-2.0,6.0]",
                                           "exp;parameters=[]",
                                           "log;parameters=[]",
                                           "sqrt;parameters=[]",
                                           "reciprocal;parameters=[]",
                                           "abs;parameters=[]",
                                           "neg;parameters=[]",
                                           "erf;parameters=[]",
                                           "sin;parameters=[]",
                                           "cos;parameters=[]",
                                           "linear;parameters=[0.5,-1.0]"));

TEST(ReferenceGradient, of_a_softmax_is_taken_from_its_result) {
  for (const std::string attributes : {"axis=2;coerce=0;log=0",
                                       "axis=1;coerce=0;log=0",
                                       "axis=1;coerce=1;log=0",
                                       "axis=2;coerce=0;log=1"}) {
    const std::string rest = ";acc=f64;math=strict;" + attributes;
    const model::LayerSpec layer = exact("softmax;in=f64[2,3,5];out=f64[2,3,5]" + rest);
    const model::LayerSpec gradient =
        exact("softmax_backward;in=f64[2,3,5],f64[2,3,5];out=f64[2,3,5]" + rest);
    const Numbers x = random_numbers(layer, 3);
    const std::vector<double> dy = random_numbers(gradient, 4).at(0);
    EXPECT_THAT(gradients(gradient, {dy, test_support::outputs(layer, x)}).at(0),
                Pointwise(DoubleNear(1e-6), slopes(layer, x, 0, dy)))
        << attributes;
  }
}

/// Returns mean and variance of each run of `size` numbers.
Numbers statistics(const std::vector<double>& x, std::size_t size) {
  Numbers found(2);
  for (std::size_t first = 0; first < x.size(); first += size) {
    double mean = 0.0;
    double variance = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      mean += x[first + i] / static_cast<double>(size);
    }
    for (std::size_t i = 0; i < size; ++i) {
      variance += (x[first + i] - mean) * (x[first + i] - mean) / static_cast<double>(size);
    }
    found[0].push_back(mean);
    found[1].push_back(variance);
  }
  return found;
}

TEST(ReferenceGradient, of_a_layer_norm_counts_that_its_statistics_move) {
  const model::LayerSpec layer = exact(
      "layer_norm;in=f64[2,3,8],f64[8],f64[8];out=f64[2,3,8];acc=f64;math=strict;axis=2;"
      "epsilon=0.01");
  const model::LayerSpec gradient = exact(
      "layer_norm_backward;in=f64[2,3,8],f64[2,3,8],f64[8],f64[2,3,1],f64[2,3,1];"
      "out=f64[2,3,8],f64[8],f64[8];acc=f64;math=strict;axis=2;epsilon=0.01");
  const Numbers operands = random_numbers(layer, 3);
  const std::vector<double> dy = random_numbers(gradient, 4).at(0);
  const Numbers s = statistics(operands[0], 8);
  const auto found = gradients(gradient, {dy, operands[0], operands[1], s[0], s[1]});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(found.at(i), Pointwise(DoubleNear(1e-6), slopes(layer, operands, i, dy))) << i;
  }
}

/// Returns the logarithm of the sum of exponents over the keys that each query sees, of heads
/// apart.
std::vector<double> attention_statistics(const model::LayerSpec& gradient,
                                         const Numbers& operands) {
  const std::vector<std::int64_t>& q = gradient.inputs.at(1)->dims;
  const std::vector<std::int64_t>& k = gradient.inputs.at(2)->dims;
  const std::int64_t sharing = q[1] / k[1];
  std::vector<double> statistics;
  for (std::int64_t row = 0; row < q[0] * q[1] * q[2]; ++row) {
    const std::int64_t query = row % q[2];
    const std::int64_t head = row / q[2] % q[1];
    const std::int64_t batch = row / q[2] / q[1];
    double sum = 0.0;
    for (std::int64_t key = 0; key < k[2]; ++key) {
      if (gradient.integer("causal") != 0 && key > query) {
        continue;
      }
      double score = 0.0;
      for (std::int64_t i = 0; i < q[3]; ++i) {
        const std::int64_t at = ((batch * k[1] + head / sharing) * k[2] + key) * q[3] + i;
        score += operands[0].at(static_cast<std::size_t>(row * q[3] + i)) *
                 operands[1].at(static_cast<std::size_t>(at));
      }
      sum += std::exp(score * gradient.real("scale"));
    }
    statistics.push_back(std::log(sum));
  }
  return statistics;
}

TEST(ReferenceGradient, of_attention_is_of_its_queries_keys_and_values) {
  for (const char* const causal : {"0", "1"}) {
    const std::string heads = std::string(";acc=f64;math=strict;causal=") + causal + ";kv_heads=2;";
    const model::LayerSpec layer =
        exact("attention;in=f64[2,4,3,5],f64[2,2,6,5],f64[2,2,6,4];out=f64[2,4,3,4]" + heads +
              "outputs=y;q_heads=4;scale=0.7;softcap=0.0");
    const model::LayerSpec gradient = exact(
        "attention_backward;in=f64[2,4,3,4],f64[2,4,3,5],f64[2,2,6,5],f64[2,2,6,4],"
        "f64[2,4,3,4],f64[2,4,3,1];out=f64[2,4,3,5],f64[2,2,6,5],f64[2,2,6,4]" +
        heads + "q_heads=4;scale=0.7");
    const Numbers operands = random_numbers(layer, 3);
    const std::vector<double> dy = random_numbers(gradient, 4).at(0);
    const auto found = gradients(gradient,
                                 {dy,
                                  operands[0],
                                  operands[1],
                                  operands[2],
                                  test_support::outputs(layer, operands),
                                  attention_statistics(gradient, operands)});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(found.at(i), Pointwise(DoubleNear(1e-6), slopes(layer, operands, i, dy)))
          << i << ", causal " << causal;
    }
  }
}

TEST(ReferenceGradient, of_attention_is_the_same_with_heads_together_and_sampled) {
  const std::string rest = ";acc=f64;math=strict;causal=1;kv_heads=1;q_heads=2;scale=0.5";
  const model::LayerSpec apart = exact(
      "attention_backward;in=f64[1,2,3,4],f64[1,2,3,4],f64[1,1,3,4],f64[1,1,3,4],f64[1,2,3,4],"
      "f64[1,2,3,1];out=f64[1,2,3,4],f64[1,1,3,4],f64[1,1,3,4]" +
      rest);
  const model::LayerSpec together = exact(
      "attention_backward;in=f64[1,3,8],f64[1,3,8],f64[1,3,4],f64[1,3,4],f64[1,3,8],f64[1,2,3,1];"
      "out=f64[1,3,8],f64[1,3,4],f64[1,3,4]" +
      rest);
  const auto joined = [](const std::vector<double>& numbers) {
    std::vector<double> result(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t head = i / 12;
      result[(i / 4 % 3 * 2 + head) * 4 + i % 4] = numbers[i];
    }
    return result;
  };
  const Numbers of = random_numbers(apart, 3);
  const Numbers expected = gradients(apart, of);
  const Numbers found =
      gradients(together, {joined(of[0]), joined(of[1]), of[2], of[3], joined(of[4]), of[5]});
  EXPECT_THAT(found.at(0), Pointwise(DoubleNear(1e-12), joined(expected.at(0))));
  EXPECT_THAT(found.at(1), Pointwise(DoubleNear(1e-12), expected.at(1)));
  EXPECT_THAT(found.at(2), Pointwise(DoubleNear(1e-12), expected.at(2)));
  ASSERT_TRUE(has_sampled_reference(apart));
  const std::vector<model::Tensor> operands = test_support::operands(apart, of);
  std::set<std::size_t> outputs;
  for (const SampledElement& sample : sampled_reference(apart, operands, 24, 1)) {
    EXPECT_DOUBLE_EQ(sample.value, expected.at(sample.output).at(sample.element));
    outputs.insert(sample.output);
  }
  EXPECT_EQ(outputs.size(), 3U);
}

const char* const kBatchNormOfTwo =
    "batch_norm_backward;in=f64[2,3,4],f64[2,3,4],f64[3],f64[3],f64[3];"
    "out=f64[2,3,4],f64[3],f64[3];acc=f64;math=strict;epsilon=0.01";

// Over one entry of the batch it is instance normalisation.
TEST(ReferenceGradient, of_a_batch_norm_counts_that_its_statistics_move) {
  const model::LayerSpec layer = exact(
      "instance_norm;in=f64[1,3,8],f64[3],f64[3];out=f64[1,3,8];acc=f64;math=strict;"
      "epsilon=0.01");
  const model::LayerSpec gradient = exact(
      "batch_norm_backward;in=f64[1,3,8],f64[1,3,8],f64[3],f64[3],f64[3];"
      "out=f64[1,3,8],f64[3],f64[3];acc=f64;math=strict;epsilon=0.01");
  const Numbers operands = random_numbers(layer, 3);
  const std::vector<double> dy = random_numbers(gradient, 4).at(0);
  const Numbers s = statistics(operands[0], 8);
  const auto found = gradients(gradient, {dy, operands[0], operands[1], s[0], s[1]});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(found.at(i), Pointwise(DoubleNear(1e-6), slopes(layer, operands, i, dy))) << i;
  }
  // The same numbers as two entries of four: [n][c][4] in place of [c][8].
  const auto parted = [](const std::vector<double>& numbers) {
    std::vector<double> result(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t channel = i / 8;
      const std::size_t entry = i / 4 % 2;
      result[(entry * 3 + channel) * 4 + i % 4] = numbers[i];
    }
    return result;
  };
  const auto of_two =
      gradients(exact(kBatchNormOfTwo), {parted(dy), parted(operands[0]), operands[1], s[0], s[1]});
  EXPECT_THAT(of_two.at(0), Pointwise(DoubleNear(1e-12), parted(found.at(0))));
  EXPECT_THAT(of_two.at(1), Pointwise(DoubleNear(1e-12), found.at(1)));
  EXPECT_THAT(of_two.at(2), Pointwise(DoubleNear(1e-12), found.at(2)));
}

TEST(ReferenceGradient, of_a_bias_is_summed_from_what_the_key_says) {
  const auto product = [](const std::string& of, const std::string& transposed) {
    return test_support::layer("gemm_bias_gradient;in=f32[2,2],f32[2,2];out=f32[2,2],f32[2]",
                               "alpha=2.0;of=" + of + ";trans_a=" + transposed + ";trans_b=0");
  };
  const Numbers numbers{{1, 2, 3, 4}, {5, 6, 7, 8}};
  EXPECT_THAT(gradients(product("a", "0"), numbers).at(1), ElementsAre(3, 7));
  EXPECT_THAT(gradients(product("a", "1"), numbers).at(1), ElementsAre(4, 6));
  EXPECT_THAT(gradients(product("b", "0"), numbers).at(1), ElementsAre(12, 14));
  EXPECT_THAT(gradients(product("y", "0"), numbers).at(0), ElementsAre(38, 44, 86, 100));
  EXPECT_THAT(gradients(product("y", "0"), numbers).at(1), ElementsAre(124, 144));
}

TEST(ReferenceGradient, behind_a_product_is_taken_at_the_saved_operand_and_then_summed) {
  const model::LayerSpec spec =
      test_support::layer("gemm_bias_gradient;in=f32[2,2],f32[2,2],f32[2,2];out=f32[2,2],f32[2]",
                          "alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=relu_backward@2");
  const auto found = gradients(spec, {{1, 2, 3, 4}, {5, 6, 7, 8}, {1, -1, -1, 1}});
  EXPECT_THAT(found.at(0), ElementsAre(19, 0, 0, 50));
  EXPECT_THAT(found.at(1), ElementsAre(19, 50));
}

TEST(ReferenceGradient, a_mask_of_bits_counts_from_the_lowest_and_begins_rows_at_a_byte) {
  const model::LayerSpec spec =
      test_support::layer("gemm;in=f32[2,1],f32[1,9],-,u8[2,16];out=f32[2,9]",
                          "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=bit_mask@3");
  std::vector<double> bits(32, 0.0);
  bits[0] = 0b10000010;
  bits[1] = 0b1;
  bits[16] = 0b1;
  EXPECT_THAT(test_support::outputs(spec, {{1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {}, bits}),
              ElementsAre(0, 2, 0, 0, 0, 0, 0, 8, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0));
}

class SampledGradients : public ::testing::TestWithParam<const char*> {};

TEST_P(SampledGradients, are_those_of_the_whole_layer) {
  const model::LayerSpec spec = exact(GetParam());
  const std::vector<model::Tensor> operands = random_operands(spec, 9);
  const auto samples = sampled_reference(spec, operands, 60, 2);
  const std::vector<model::Tensor> whole = reference_outputs(spec, operands);
  std::vector<std::size_t> seen(spec.outputs.size());
  for (const SampledElement& sample : samples) {
    const double expected = number_at(whole.at(sample.output), sample.element);
    EXPECT_NEAR(sample.value, expected, 1e-4 * std::max(1.0, std::fabs(expected)));
    ++seen[sample.output];
  }
  for (const std::size_t count : seen) {
    EXPECT_GT(count, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    SampledGradients,
    ::testing::Values(
        "conv_backward_data;in=f32[2,6,3,3],f32[6,2,3,2];out=f32[2,4,7,6];acc=f32;math=strict;"
        "dilations=[1,2];group=2;pads=[1,0,0,1];strides=[2,2]",
        "conv_backward_weights;in=f32[2,6,3,3],f32[2,4,7,6];out=f32[6,2,3,2],f32[6];acc=f32;"
        "math=strict;dilations=[1,2];group=2;outputs=wb;pads=[1,0,0,1];strides=[2,2]",
        "gemm_bias_gradient;in=f32[20,32],f32[20,24];out=f32[32,24],f32[32];acc=f32;math=strict;"
        "alpha=1.0;of=a;trans_a=1;trans_b=0",
        "gemm_bias_gradient;in=f32[20,24],f32[32,24],f32[20,32];out=f32[20,32],f32[32];acc=f32;"
        "math=strict;alpha=0.5;of=y;trans_a=0;trans_b=1;epilogue=gelu_tanh_backward@2"));

}  // namespace
}  // namespace plumb::engine
