// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/verification.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "runners/engine/bench/random_operands.hpp"
#include "tests/unit/engine/layer_builder.hpp"

namespace plumb::engine {
namespace {

using test_support::layer;
using ::testing::HasSubstr;

model::LayerSpec matmul(const std::string& type) {
  return layer("matmul;in=" + type + "[4,25]," + type + "[25,6];out=" + type + "[4,6]");
}

/// Adds `share` of the largest output to one element.
std::vector<model::Tensor> off_by(const std::vector<model::Tensor>& outputs,
                                  std::size_t element,
                                  double share) {
  std::vector<double> numbers = read_numbers(outputs[0]);
  double largest = 0.0;
  for (const double number : numbers) {
    largest = std::max(largest, std::fabs(number));
  }
  numbers[element] += share * largest;
  return {tensor_from(outputs[0].type, numbers)};
}

TEST(Verification, accepts_errors_within_the_tolerance_only) {
  const model::LayerSpec spec = matmul("f32");
  const std::vector<model::Tensor> operands = random_operands(spec, 7);
  const std::vector<model::Tensor> right = reference_outputs(spec, operands);
  const Verifier verifier(spec, operands);
  EXPECT_DOUBLE_EQ(compute_tolerance(spec), 5e-5);  // 1e-5 · √25
  EXPECT_TRUE(verifier.verify(right).outcome.ok());
  EXPECT_EQ(verifier.verify(right).maximum_error, 0.0);
  EXPECT_EQ(verifier.verify(right).compared, 24U);
  const Verifier::Verdict close = verifier.verify(off_by(right, 9, 4e-5));
  EXPECT_TRUE(close.outcome.ok());
  EXPECT_NEAR(close.maximum_error.value(), 4e-5, 1e-6);
  const Verifier::Verdict wrong = verifier.verify(off_by(right, 9, 7e-5));
  EXPECT_EQ(wrong.outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_THAT(wrong.outcome.reason, HasSubstr("output 0 at [1,3] (element 9): expected"));
  EXPECT_NE(wrong.output_hash, verifier.verify(right).output_hash);
}

TEST(Verification, finds_a_wrong_element_wherever_it_lies_among_thousands) {
  const model::LayerSpec spec =
      layer("eltwise;in=f32[5000];out=f32[5000]", "fn=relu;parameters=[]");
  const std::vector<model::Tensor> operands = random_operands(spec, 7);
  const std::vector<model::Tensor> right = reference_outputs(spec, operands);
  const Verifier verifier(spec, operands);
  EXPECT_EQ(verifier.verify(right).compared, 5000U);
  for (const std::size_t element : {0U, 1U, 2047U, 2048U, 4095U, 4096U, 4999U}) {
    const auto named = HasSubstr(fmt::format("at [{}] ", element));
    const Verifier::Verdict wrong =
        verifier.verify(off_by(off_by(right, 3000, 1e-6), element, 0.5));
    EXPECT_THAT(wrong.outcome.reason, named);
    EXPECT_NEAR(wrong.maximum_error.value(), 0.5, 1e-6);
    std::vector<double> numbers = read_numbers(right[0]);
    numbers[element] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<model::Tensor> outputs{tensor_from(right[0].type, numbers)};
    EXPECT_THAT(verifier.verify(outputs).outcome.reason, named);
  }
}

/// Rounds to the 10 bits after the point that TF32 has.
float to_tf32(float value) {
  const auto bits = (std::bit_cast<std::uint32_t>(value) + 0x1000U) & 0xffffe000U;
  return std::bit_cast<float>(bits);
}

/// Returns the rows of a [m,k] by [k,n] product, added one by one in f32.
template <typename Round>
std::vector<model::Tensor> product(const model::LayerSpec& spec,
                                   const std::vector<model::Tensor>& operands,
                                   Round round) {
  const model::TensorType& type = spec.outputs[0];
  const auto k = static_cast<std::size_t>(spec.inputs[0]->dims[1]);
  const auto n = static_cast<std::size_t>(type.dims[1]);
  std::vector<double> numbers(static_cast<std::size_t>(element_count(type)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float sum = 0.0F;
    for (std::size_t depth = 0; depth < k; ++depth) {
      sum += round(operands[0].as<float>()[i / n * k + depth]) *
             round(operands[1].as<float>()[depth * n + i % n]);
    }
    numbers[i] = sum;
  }
  return {tensor_from(type, numbers)};
}

TEST(Verification, tells_f32_from_tf32_however_long_the_sums_are) {
  for (const int length : {1, 2, 3, 9, 16, 27, 64, 147, 576, 1024, 4608, 16384, 65536}) {
    SCOPED_TRACE(length);
    const std::string k = std::to_string(length);
    const model::LayerSpec spec =
        layer("matmul;in=f32[16," + k + "],f32[" + k + ",16];out=f32[16,16]");
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const std::vector<model::Tensor> operands = random_operands(spec, seed);
      const Verifier verifier(spec, operands);
      const auto plain = product(spec, operands, [](float value) { return value; });
      const Verifier::Verdict right = verifier.verify(plain);
      EXPECT_TRUE(right.outcome.ok()) << right.outcome.reason;
      const Verifier::Verdict wrong = verifier.verify(product(spec, operands, to_tf32));
      EXPECT_EQ(wrong.outcome.kind, results::Outcome::Kind::kWrongResult) << *wrong.maximum_error;
      EXPECT_GT(*wrong.maximum_error, 10.0 * *right.maximum_error);
    }
  }
}

/// Cuts off what TF32 does not have, as tensor cores do with an f32 that nobody rounded.
float cut_to_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000U);
}

float to_bf16(float value) {
  return float_from_bf16(bf16_from(value));
}

TEST(Verification, tells_tf32_from_bf16_however_long_the_sums_are) {
  for (const int length : {1, 2, 3, 9, 16, 27, 64, 147, 576, 1024, 4608, 16384}) {
    SCOPED_TRACE(length);
    const std::string k = std::to_string(length);
    model::LayerSpec spec = layer("matmul;in=f32[16," + k + "],f32[" + k + ",16];out=f32[16,16]");
    spec.math = model::LayerSpec::MathClass::kTf32;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const std::vector<model::Tensor> operands = random_operands(spec, seed);
      const Verifier verifier(spec, operands);
      for (const auto round : {to_tf32, cut_to_tf32}) {
        const Verifier::Verdict right = verifier.verify(product(spec, operands, round));
        EXPECT_TRUE(right.outcome.ok()) << right.outcome.reason;
      }
      EXPECT_TRUE(
          verifier.verify(product(spec, operands, [](float value) { return value; })).outcome.ok())
          << "TF32 is allowed, not demanded";
      const Verifier::Verdict wrong = verifier.verify(product(spec, operands, to_bf16));
      EXPECT_EQ(wrong.outcome.kind, results::Outcome::Kind::kWrongResult) << *wrong.maximum_error;
    }
  }
}

TEST(Verification, accepts_f16_and_bf16_rounded_once_however_long_the_sums_are) {
  for (const std::string type : {"f16", "bf16"}) {
    const double rounding = type == "f16" ? 0x1p-11 : 0x1p-8;
    for (const int length : {1, 3, 16, 147, 1024, 4608, 16384}) {
      const std::string k = std::to_string(length);
      SCOPED_TRACE(type + " " + k);
      const model::LayerSpec spec = layer("matmul;in=" + type + "[16," + k + "]," + type + "[" + k +
                                          ",16];out=" + type + "[16,16]");
      const std::vector<model::Tensor> operands = random_operands(spec, 1);
      const std::vector<double> left = read_numbers(operands[0]);
      const std::vector<double> right = read_numbers(operands[1]);
      std::vector<double> sums(16 * 16);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        float sum = 0.0F;  // accumulated in f32, rounded to the type at the end
        for (std::size_t depth = 0; depth < static_cast<std::size_t>(length); ++depth) {
          sum += static_cast<float>(left[i / 16 * static_cast<std::size_t>(length) + depth]) *
                 static_cast<float>(right[depth * 16 + i % 16]);
        }
        sums[i] = sum;
      }
      const Verifier::Verdict verdict =
          verify(spec, operands, {{tensor_from(spec.outputs[0], sums)}});
      EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
      EXPECT_LT(*verdict.maximum_error, 1.1 * rounding) << "of the result, and f32's own";
      EXPECT_LT(*verdict.maximum_error, compute_tolerance(spec) / 2.0);
    }
  }
}

TEST(Verification, tells_f16_from_bf16_however_long_the_sums_are) {
  for (const int length : {1, 2, 3, 9, 16, 27, 64, 147, 576, 1024, 4608, 16384}) {
    SCOPED_TRACE(length);
    const std::string k = std::to_string(length);
    const model::LayerSpec spec =
        layer("matmul;in=f16[16," + k + "],f16[" + k + ",16];out=f16[16,16]");
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const std::vector<model::Tensor> operands = random_operands(spec, seed);
      std::vector<model::Tensor> widened;  // the same numbers in f32
      for (const model::Tensor& operand : operands) {
        widened.push_back(
            tensor_from({model::DataType::kF32, operand.type.dims}, read_numbers(operand)));
      }
      const Verifier verifier(spec, operands);
      const Verifier::Verdict right =
          verifier.verify(product(spec, widened, [](float value) { return value; }));
      EXPECT_TRUE(right.outcome.ok()) << right.outcome.reason;
      const Verifier::Verdict wrong = verifier.verify(product(spec, widened, to_bf16));
      EXPECT_EQ(wrong.outcome.kind, results::Outcome::Kind::kWrongResult) << *wrong.maximum_error;
    }
  }
}

TEST(Verification, lets_tf32_round_more_through_several_products_and_transforms) {
  model::LayerSpec spec = matmul("f32");
  spec.math = model::LayerSpec::MathClass::kTf32;
  EXPECT_DOUBLE_EQ(compute_tolerance(spec), 1.2e-3);
  EXPECT_DOUBLE_EQ(compute_tolerance(spec, 0, Verifier::Arithmetic::kTransformed), 5e-3);
  spec = model::parse_key(
      {"v1:attention;in=f32[1,2,4,8],f32[1,2,4,8],f32[1,2,4,8];out=f32[1,2,4,8];acc=f32;math=tf32;"
       "causal=0;kv_heads=2;outputs=y;q_heads=2;scale=0.25;softcap=0.0"});
  EXPECT_DOUBLE_EQ(compute_tolerance(spec), 5e-3);
}

TEST(Verification, lets_transforms_round_more) {
  const model::LayerSpec spec = layer("matmul;in=f32[4,2500],f32[2500,6];out=f32[4,6]");
  EXPECT_DOUBLE_EQ(compute_tolerance(spec), 5e-5);
  EXPECT_DOUBLE_EQ(compute_tolerance(spec, 0, Verifier::Arithmetic::kTransformed),
                   5e-4);  // 1e-5 · √2500
  EXPECT_EQ(find_arithmetic("impl=jit:avx2;algorithm=direct", {}), Verifier::Arithmetic::kDirect);
  EXPECT_EQ(find_arithmetic("impl=jit_wino:avx2", {}), Verifier::Arithmetic::kTransformed);
  EXPECT_EQ(find_arithmetic("algorithm=WINOGRAD_NONFUSED", {}), Verifier::Arithmetic::kTransformed);
  EXPECT_EQ(find_arithmetic("algorithm=FFT_TILING", {}), Verifier::Arithmetic::kTransformed);
  EXPECT_EQ(find_arithmetic("engine=7", {{"numerical_notes", "FFT,TENSOR_CORE"}}),
            Verifier::Arithmetic::kTransformed);
  EXPECT_EQ(find_arithmetic("engine=7", {{"numerical_notes", "TENSOR_CORE"}}),
            Verifier::Arithmetic::kDirect);
}

TEST(Verification, is_wider_for_half_types_and_exact_for_integers) {
  EXPECT_DOUBLE_EQ(compute_tolerance(matmul("bf16")), 2e-2);
  EXPECT_DOUBLE_EQ(compute_tolerance(matmul("f16")), 1.2e-3);
  EXPECT_DOUBLE_EQ(compute_tolerance(matmul("f16"), 0, Verifier::Arithmetic::kTransformed), 2e-2);
  EXPECT_EQ(compute_tolerance(layer("view;in=f32[2];out=f32[2,1]")), 0.0);
  const model::LayerSpec spec = layer("matmul;in=u8[2,3],s8[3,2];out=s32[2,2]");
  const std::vector<model::Tensor> operands = random_operands(spec, 1);
  std::vector<model::Tensor> outputs = reference_outputs(spec, operands);
  EXPECT_TRUE(verify(spec, operands, outputs).outcome.ok());
  outputs[0].as<std::int32_t>()[3] += 1;
  EXPECT_EQ(verify(spec, operands, outputs).outcome.kind, results::Outcome::Kind::kWrongResult);
}

TEST(Verification, rejects_nan_infinity_and_other_shapes) {
  const model::LayerSpec spec = matmul("f32");
  const std::vector<model::Tensor> operands = random_operands(spec, 7);
  const std::vector<model::Tensor> right = reference_outputs(spec, operands);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<model::Tensor> outputs = right;
    outputs[0].as<float>()[23] = bad;
    const Verifier::Verdict verdict = verify(spec, operands, outputs);
    EXPECT_EQ(verdict.outcome.kind, results::Outcome::Kind::kWrongResult);
    EXPECT_THAT(verdict.outcome.reason, HasSubstr("not finite"));
    EXPECT_FALSE(verdict.maximum_error.has_value());
  }
  std::vector<model::Tensor> outputs = right;
  outputs[0].type.dims = {6, 4};
  EXPECT_THAT(verify(spec, operands, outputs).outcome.reason, HasSubstr("should be f32[4,6]"));
  EXPECT_EQ(verify(spec, operands, {}).outcome.kind, results::Outcome::Kind::kWrongResult);
}

TEST(Verification, agrees_on_nan_where_the_reference_has_it) {
  const model::LayerSpec spec = layer("eltwise;in=f32[2];out=f32[2]", "fn=sqrt;parameters=[]");
  const std::vector<model::Tensor> operands = test_support::operands(spec, {{-1, 4}});
  const model::TensorType type{model::DataType::kF32, {2}};
  EXPECT_TRUE(verify(spec, operands, std::vector{tensor_from(type, std::vector{std::nan(""), 2.0})})
                  .outcome.ok());
  EXPECT_FALSE(
      verify(spec, operands, std::vector{tensor_from(type, std::vector{0.0, 2.0})}).outcome.ok());
}

TEST(Verification, samples_large_layers) {
  const model::LayerSpec spec = layer("conv;in=f32[1,8,40,40],f32[16,8,3,3]c;out=f32[1,16,38,38]",
                                      "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]");
  const std::vector<model::Tensor> operands = random_operands(spec, 3);
  std::vector<model::Tensor> outputs = reference_outputs(spec, operands);
  Verifier::Options few_macs;
  few_macs.fully_below_macs = 1000;
  Verifier::Options few_elements;
  few_elements.fully_below_elements = 16 * 38 * 38 - 1;
  for (const Verifier::Options& options : {few_macs, few_elements}) {
    const Verifier sampled(spec, operands, options);
    EXPECT_TRUE(sampled.verify(outputs).outcome.ok());
    EXPECT_EQ(sampled.verify(outputs).compared, 4096U);
  }
  EXPECT_EQ(Verifier(spec, operands).verify(outputs).compared, 16U * 38 * 38);
  const Verifier verifier(spec, operands, few_macs);
  outputs[0].as<float>()[0] += 100.0F;  // a corner is always among them
  EXPECT_EQ(verifier.verify(outputs).outcome.kind, results::Outcome::Kind::kWrongResult);
}

TEST(Verification, allows_8_bit_floats_what_their_digits_are) {
  const model::LayerSpec product = layer("matmul;in=f8e4m3[4,8],f8e5m2[8,6];out=f32[4,6]");
  EXPECT_EQ(compute_tolerance(product), 2e-2);
  for (const char* const types : {"in=f32[9];out=f8e4m3[9]", "in=f8e5m2[9];out=bf16[9]"}) {
    EXPECT_EQ(compute_tolerance(layer("cast;" + std::string(types))), 0.0) << types;
  }
  EXPECT_EQ(compute_tolerance(layer("eltwise;in=f8e5m2[9];out=f8e5m2[9]", "fn=relu;parameters=[]")),
            0.25);
}

TEST(Verification, finds_an_8_bit_float_that_was_cut_off_instead_of_rounded) {
  const model::LayerSpec spec = layer("cast;in=f32[3];out=f8e4m3[3]");
  const std::vector<model::Tensor> operands = test_support::operands(spec, {{1.0, 1.1, 240.0}});
  std::vector<model::Tensor> outputs = reference_outputs(spec, operands);
  EXPECT_TRUE(verify(spec, operands, outputs).outcome.ok());
  outputs[0].data[1] = std::byte{0x38};  // 1, where 1.125 is nearer
  EXPECT_EQ(verify(spec, operands, outputs).outcome.kind, results::Outcome::Kind::kWrongResult);
}

TEST(Verification, says_when_there_is_no_reference) {
  model::LayerSpec spec = matmul("f32");
  spec.outputs[0].dtype = model::DataType::kString;
  const Verifier::Verdict verdict = verify(spec, random_operands(matmul("f32"), 1), {});
  EXPECT_EQ(verdict.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(verdict.outcome.reason, HasSubstr("string"));
}

}  // namespace
}  // namespace plumb::engine
