// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/gemm_problem.hpp"

#include <cmath>

#include "runners/cuda/index_space.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_operands.hpp"
#include "runners/engine/reference/reference.hpp"
#include "runners/engine/verification.hpp"

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;

double element(const GemmMatrix& matrix,
               const std::vector<Tensor>& operands,
               std::int64_t batch,
               std::int64_t row,
               std::int64_t column) {
  const std::int64_t at = batch * matrix.batch_stride + column * matrix.leading + row;
  return number_at(operands.at(matrix.buffer), static_cast<std::size_t>(at));
}

double operation(const GemmMatrix& matrix,
                 const std::vector<Tensor>& operands,
                 std::int64_t batch,
                 std::int64_t row,
                 std::int64_t column) {
  return matrix.transposed ? element(matrix, operands, batch, column, row)
                           : element(matrix, operands, batch, row, column);
}

/// Executes steps of our kernels by the reference: operands, then what they make.
void run_steps(const std::vector<OwnStep>& steps, std::vector<Tensor>& buffers) {
  for (const OwnStep& step : steps) {
    std::vector<Tensor> operands;
    operands.reserve(step.inputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      operands.push_back({*step.spec.inputs[i], buffers.at(step.inputs[i]).data});
    }
    buffers.at(step.output) = reference_outputs(step.spec, operands).at(0);
  }
}

/// Computes what cuBLASLt's documentation says that it computes, in float64.
Tensor multiplied(const GemmProblem& problem,
                  const TensorType& type,
                  const std::vector<Tensor>& operands) {
  std::vector<double> result(static_cast<std::size_t>(element_count(type)), NAN);
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    for (std::int64_t row = 0; row < problem.m; ++row) {
      for (std::int64_t column = 0; column < problem.n; ++column) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < problem.k; ++k) {
          sum += operation(problem.a, operands, batch, row, k) *
                 operation(problem.b, operands, batch, k, column);
        }
        sum *= problem.alpha;
        sum += problem.c ? problem.beta * element(*problem.c, operands, batch, row, column) : 0.0;
        sum += problem.bias ? number_at(operands.at(*problem.bias), static_cast<std::size_t>(row))
                            : 0.0;
        using Activation = GemmProblem::Activation;
        if (problem.activation == Activation::kRelu) {
          sum = std::max(sum, 0.0);
        } else if (problem.activation == Activation::kGeluTanh) {
          sum *=
              0.5 * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
        }
        const std::int64_t at = batch * problem.d.batch_stride + column * problem.d.leading + row;
        result.at(static_cast<std::size_t>(at)) = sum;
      }
    }
  }
  return tensor_from(type, result);
}

/// Computes a layer as it is asked for, with our kernels' steps before and behind.
Tensor computed(const LayerSpec& spec, const GemmProblem& problem, std::vector<Tensor> buffers) {
  buffers.resize(buffers.size() + 1 + problem.made.size());
  run_steps(problem.before, buffers);
  Tensor& result = buffers.at(spec.inputs.size());
  result = multiplied(problem, spec.outputs[0], buffers);
  run_steps(problem.behind, buffers);
  return result;
}

class Products : public ::testing::TestWithParam<const char*> {};

TEST_P(Products, mean_the_same_by_columns) {
  const LayerSpec spec = parse_key({GetParam()});
  const std::vector<Tensor> operands = random_operands(spec, 5);
  for (const GemmProblem& problem : {gemm_problem(spec), plain_gemm_problem(spec)}) {
    const std::vector<Tensor> outputs{computed(spec, problem, operands)};
    const Verdict verdict = verify(spec, operands, outputs);
    EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
  }
}

TEST(GemmProblem, the_older_calls_add_in_place_and_do_nothing_else) {
  const GemmProblem problem = plain_gemm_problem(
      parse_key({"v1:gemm;in=f32[5,24],f32[24,17],f32[17];out=f32[5,17];acc=f32;math=strict;"
                 "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=relu"}));
  EXPECT_FALSE(problem.bias);
  EXPECT_EQ(problem.activation, GemmProblem::Activation::kNone);
  ASSERT_TRUE(problem.c);
  EXPECT_EQ(problem.c->buffer, problem.d.buffer);
  EXPECT_EQ(problem.before.size(), 1U);
  EXPECT_EQ(problem.behind.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    Products,
    ::testing::Values(
        "v1:matmul;in=f32[2,3,8,16],f32[2,3,16,9];out=f32[2,3,8,9];acc=f32;math=strict",
        "v1:matmul;in=f32[2,8,16],f32[16,9]c;out=f32[2,8,9];acc=f32;math=strict",
        "v1:matmul;in=f32[8,16],f32[5,16,9];out=f32[5,8,9];acc=f32;math=strict",
        "v1:matmul;in=f32[16],f32[16,9];out=f32[9];acc=f32;math=strict",
        "v1:matmul;in=f32[4,16],f32[16];out=f32[4];acc=f32;math=strict",
        "v1:matmul;in=bf16[8,32],bf16[32,16]c;out=bf16[8,16];acc=f32;math=strict",
        "v1:matmul;in=f64[8,32],f64[32,16]c;out=f64[8,16];acc=f64;math=strict",
        "v1:gemm;in=f32[5,24],f32[17,24]c,f32[17]c;out=f32[5,17];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=1",
        "v1:gemm;in=f32[24,5],f32[24,17],f32[5,17];out=f32[5,17];acc=f32;math=strict;alpha=0.5;"
        "beta=2.0;trans_a=1;trans_b=0",
        "v1:gemm;in=f32[24,5],f32[17,24];out=f32[5,17];acc=f32;math=strict;alpha=0.5;"
        "beta=1.0;trans_a=1;trans_b=1",
        "v1:gemm;in=f32[1,24],f32[24,17],f32[1,17];out=f32[1,17];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=relu",
        "v1:gemm;in=f32[5,24],f32[24,17],f32[17];out=f32[5,17];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_tanh",
        // What kernels of ours do before it: C along rows, scaled, and one number; batches.
        "v1:gemm;in=f32[24,5],f32[24,17],f32[5,1];out=f32[5,17];acc=f32;math=strict;alpha=0.5;"
        "beta=2.0;trans_a=1;trans_b=0;epilogue=relu",
        "v1:gemm;in=f32[5,24],f32[24,17],f32[17];out=f32[5,17];acc=f32;math=strict;alpha=1.0;"
        "beta=0.5;trans_a=0;trans_b=0",
        "v1:gemm;in=f32[5,24],f32[24,17],f32[];out=f32[5,17];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0",
        "v1:matmul;in=f32[2,1,8,16],f32[1,3,16,9];out=f32[2,3,8,9];acc=f32;math=strict",
        "v1:matmul;in=f32[2,3,8,16],f32[3,16,9];out=f32[2,3,8,9];acc=f32;math=strict",
        "v1:matmul;in=f32[3,8,16],f32[2,1,16,9];out=f32[2,3,8,9];acc=f32;math=strict",
        // And behind it.
        "v1:matmul;in=f32[4,8,16],f32[16,9]c,f32[4,1,9];out=f32[4,8,9];acc=f32;math=strict;"
        "epilogue=gelu_erf,mul@2",
        "v1:gemm;in=f32[5,24],f32[24,17],f32[17],f32[5,17];out=f32[5,17];acc=f32;math=strict;"
        "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=add@3,relu",
        "v1:matmul_integer;in=s8[5,32],s8[32,16]c;out=s32[5,16];acc=s32;math=strict",
        "v1:matmul_integer;in=s8[3,5,32],s8[3,32,16];out=s32[3,5,16];acc=s32;math=strict",
        "v1:matmul_integer;in=s8[5,32],s8[32];out=s32[5];acc=s32;math=strict"));

TEST(GemmProblem, says_what_cublaslt_cannot_do) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(gemm_problem(parse_key({key})));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:matmul;in=s8[8,16],s8[16,9];out=s32[8,9];acc=s32;math=strict"),
              HasSubstr("products of s8"));
  EXPECT_THAT(refusal("v1:matmul_integer;in=u8[8,16],s8[16,9];out=s32[8,9];acc=s32;math=strict"),
              HasSubstr("s8 with s8"));
  EXPECT_THAT(refusal("v1:matmul_integer;in=s8[8,16],s8[16,9],s8[]c;out=s32[8,9];acc=s32;"
                      "math=strict"),
              HasSubstr("zero points"));
}

TEST(GemmProblem, takes_tf32_only_where_the_key_allows_it) {
  const std::string key = "v1:matmul;in=f32[8,16],f32[16,9];out=f32[8,9];acc=f32;math=";
  EXPECT_FALSE(gemm_problem(parse_key({key + "strict"})).tf32);
  EXPECT_FALSE(gemm_problem(parse_key({key + "deterministic"})).tf32);
  EXPECT_TRUE(gemm_problem(parse_key({key + "tf32"})).tf32);
}

}  // namespace
}  // namespace plumb::cuda
