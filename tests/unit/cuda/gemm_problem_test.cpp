// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/gemm_problem.hpp"

#include <cmath>
#include <fstream>

#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;

double element(const GemmProblem::Matrix& matrix,
               const std::vector<model::Tensor>& operands,
               std::int64_t batch,
               std::int64_t row,
               std::int64_t column) {
  const std::int64_t at = batch * matrix.batch_stride + column * matrix.leading + row;
  return engine::number_at(operands.at(matrix.buffer), static_cast<std::size_t>(at));
}

double operation(const GemmProblem::Matrix& matrix,
                 const std::vector<model::Tensor>& operands,
                 std::int64_t batch,
                 std::int64_t row,
                 std::int64_t column) {
  return matrix.transposed ? element(matrix, operands, batch, column, row)
                           : element(matrix, operands, batch, row, column);
}

/// Executes steps of our kernels by the reference: operands, then what they make.
void run_steps(const std::vector<BuiltinLayer::Step>& steps, std::vector<model::Tensor>& buffers) {
  for (const BuiltinLayer::Step& step : steps) {
    std::vector<model::Tensor> operands;
    operands.reserve(step.inputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      operands.push_back({*step.spec.inputs[i], buffers.at(step.inputs[i]).data});
    }
    buffers.at(step.output) = engine::reference_outputs(step.spec, operands).at(0);
  }
}

double gelu_tanh_slope(double x) {
  const double scale = std::sqrt(2.0 / M_PI);
  const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * scale * (1.0 + 3.0 * 0.044715 * x * x);
}

/// Takes the activation of an element of D, or its gradient at what was saved.
double activated(const GemmProblem& problem,
                 const std::vector<model::Tensor>& operands,
                 std::int64_t row,
                 std::int64_t column,
                 double sum) {
  using Activation = GemmProblem::Activation;
  switch (problem.activation) {
    case Activation::kRelu:
      return std::max(sum, 0.0);
    case Activation::kGeluTanh:
      return sum * 0.5 *
             (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
    case Activation::kGeluTanhGradient:
      return sum * gelu_tanh_slope(element(*problem.saved, operands, 0, row, column));
    case Activation::kReluGradient: {
      const auto bit = static_cast<std::size_t>(column * problem.saved->leading + row);
      const std::byte byte = operands.at(problem.saved->buffer).data.at(bit / 8);
      return ((byte >> (bit % 8)) & std::byte{1}) != std::byte{0} ? sum : 0.0;
    }
    case Activation::kNone:
      break;
  }
  return sum;
}

/// Computes what cuBLASLt's documentation says that it computes, in float64.
model::Tensor multiplied(const GemmProblem& problem,
                         const model::TensorType& type,
                         const std::vector<model::Tensor>& operands) {
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
        sum += problem.bias
                   ? engine::number_at(operands.at(*problem.bias), static_cast<std::size_t>(row))
                   : 0.0;
        const std::int64_t at = batch * problem.d.batch_stride + column * problem.d.leading + row;
        result.at(static_cast<std::size_t>(at)) = activated(problem, operands, row, column, sum);
      }
    }
  }
  return engine::tensor_from(type, result);
}

/// Adds up what cuBLASLt's documentation says of its bias gradients: the factors along k, for each
/// of D's rows (A) or columns (B), or D's columns, for each of its rows.
model::Tensor added_up(const GemmProblem& problem,
                       const model::TensorType& type,
                       const std::vector<model::Tensor>& buffers) {
  using Summed = GemmProblem::Summed;
  std::vector<double> sums;
  const std::int64_t count = problem.summed == Summed::kB ? problem.n : problem.m;
  const std::int64_t terms = problem.summed == Summed::kD ? problem.n : problem.k;
  for (std::int64_t i = 0; i < count; ++i) {
    double& sum = sums.emplace_back(0.0);
    for (std::int64_t term = 0; term < terms; ++term) {
      sum += problem.summed == Summed::kA   ? operation(problem.a, buffers, 0, i, term)
             : problem.summed == Summed::kB ? operation(problem.b, buffers, 0, term, i)
                                            : element(problem.d, buffers, 0, i, term);
    }
  }
  return engine::tensor_from(type, sums);
}

/// Computes what cuBLAS' documentation says of gemv, in float64.
model::Tensor multiplied(const GemmProblem& problem,
                         const GemmProblem::Gemv& vectors,
                         const model::TensorType& type,
                         const std::vector<model::Tensor>& operands) {
  const bool turned = vectors.a.transposed;
  const std::int64_t rows = turned ? vectors.a.columns : vectors.a.rows;
  const std::int64_t columns = turned ? vectors.a.rows : vectors.a.columns;
  std::vector<double> result(static_cast<std::size_t>(element_count(type)), NAN);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row * vectors.y.step);
    double sum = problem.beta == 0.0
                     ? 0.0
                     : problem.beta * engine::number_at(operands.at(vectors.y.buffer), at);
    for (std::int64_t i = 0; i < columns; ++i) {
      sum += problem.alpha * operation(vectors.a, operands, 0, row, i) *
             engine::number_at(operands.at(vectors.x.buffer),
                               static_cast<std::size_t>(i * vectors.x.step));
    }
    result.at(at) = sum;
  }
  return engine::tensor_from(type, result);
}

/// Computes a layer as it is asked for, with our kernels' steps before and behind.
std::vector<model::Tensor> computed(const model::LayerSpec& spec,
                                    const GemmProblem& problem,
                                    std::vector<model::Tensor> buffers) {
  const std::size_t first = spec.inputs.size();
  buffers.resize(first + spec.outputs.size() + problem.made.size());
  run_steps(problem.before, buffers);
  buffers.at(first) = multiplied(problem, spec.outputs[0], buffers);
  if (problem.bias_gradient) {
    buffers.at(*problem.bias_gradient) = added_up(problem, spec.outputs.at(1), buffers);
  }
  run_steps(problem.behind, buffers);
  std::vector<model::Tensor> results;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    results.push_back({spec.outputs[i], buffers.at(first + i).data});
  }
  return results;
}

class Products : public ::testing::TestWithParam<const char*> {};

TEST_P(Products, mean_the_same_by_columns) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
  for (const GemmProblem& problem : {gemm_problem(spec), plain_gemm_problem(spec)}) {
    const engine::Verifier::Verdict verdict =
        engine::verify(spec, operands, computed(spec, problem, operands));
    EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
  }
}

class ProductsOfTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(ProductsOfTraining, are_the_same_fused_and_apart) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
  const GemmProblem fused = gemm_problem(spec);
  EXPECT_TRUE(fused.behind.empty());
  EXPECT_TRUE(fused.saved || fused.bias_gradient);
  const engine::Verifier::Verdict verdict =
      engine::verify(spec, operands, computed(spec, fused, operands));
  EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
  if (fused.activation == GemmProblem::Activation::kReluGradient) {
    EXPECT_THROW(static_cast<void>(gemm_problem_with_gradients_apart(spec)), Unsupported);
    return;
  }
  for (const GemmProblem& apart :
       {gemm_problem_with_gradients_apart(spec), plain_gemm_problem(spec)}) {
    EXPECT_FALSE(apart.saved || apart.bias_gradient);
    const engine::Verifier::Verdict other =
        engine::verify(spec, operands, computed(spec, apart, operands));
    EXPECT_TRUE(other.outcome.ok()) << other.outcome.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    ProductsOfTraining,
    ::testing::Values(
        "v1:gemm;in=f32[6,24],f32[24,40],-,f32[6,40];out=f32[6,40];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_tanh_backward@3",
        "v1:gemm;in=f32[6,24],f32[24,150],-,u8[6,32];out=f32[6,150];acc=f32;math=strict;alpha=0.5;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=bit_mask@3",
        "v1:matmul;in=f32[2,3,24],f32[24,40],f32[2,3,40];out=f32[2,3,40];acc=f32;math=strict;"
        "epilogue=gelu_tanh_backward@2",
        "v1:gemm_bias_gradient;in=f32[20,32],f32[20,24];out=f32[32,24],f32[32];acc=f32;math=strict;"
        "alpha=1.0;of=a;trans_a=1;trans_b=0",
        "v1:gemm_bias_gradient;in=f32[32,20],f32[24,20];out=f32[32,24],f32[32];acc=f32;math=strict;"
        "alpha=0.5;of=a;trans_a=0;trans_b=1",
        "v1:gemm_bias_gradient;in=f32[20,24],f32[20,32];out=f32[24,32],f32[32];acc=f32;math=strict;"
        "alpha=1.0;of=b;trans_a=1;trans_b=0",
        "v1:gemm_bias_gradient;in=f32[24,20],f32[32,20];out=f32[24,32],f32[32];acc=f32;math=strict;"
        "alpha=1.0;of=b;trans_a=0;trans_b=1",
        "v1:gemm_bias_gradient;in=f32[20,24],f32[24,32],f32[20,32];out=f32[20,32],f32[32];acc=f32;"
        "math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=gelu_tanh_backward@2",
        "v1:gemm_bias_gradient;in=f32[20,24],f32[24,32],u8[20,16];out=f32[20,32],f32[32];acc=f32;"
        "math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=bit_mask@2"));

TEST(GemmProblem, does_apart_what_cublaslt_does_not_fuse_of_training) {
  // A ReLU by its operand, not by bits; sums of a result that nothing was fused behind; GELU of
  // columns that are no multiple of eight.
  for (const char* const key :
       {"v1:gemm;in=f32[6,24],f32[24,40],-,f32[6,40];out=f32[6,40];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=relu_backward@3",
        "v1:gemm_bias_gradient;in=f32[20,24],f32[24,32];out=f32[20,32],f32[32];acc=f32;"
        "math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0",
        "v1:gemm_bias_gradient;in=f32[20,24],f32[24,31],f32[20,31];out=f32[20,31],f32[31];acc=f32;"
        "math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=gelu_tanh_backward@2"}) {
    const model::LayerSpec spec = model::parse_key({key});
    const GemmProblem problem = gemm_problem(spec);
    EXPECT_FALSE(problem.saved || problem.bias_gradient) << key;
    EXPECT_FALSE(problem.behind.empty()) << key;
    const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
    const engine::Verifier::Verdict verdict =
        engine::verify(spec, operands, computed(spec, problem, operands));
    EXPECT_TRUE(verdict.outcome.ok()) << key << ": " << verdict.outcome.reason;
  }
}

TEST(GemmProblem, the_older_calls_add_in_place_and_do_nothing_else) {
  const GemmProblem problem = plain_gemm_problem(
      model::parse_key({"v1:gemm;in=f32[5,24],f32[24,17],f32[17];out=f32[5,17];acc=f32;math=strict;"
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

class ProductsOf8BitFloats : public ::testing::TestWithParam<const char*> {};

TEST_P(ProductsOf8BitFloats, mean_the_same_in_the_only_form_there_is) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
  for (const GemmProblem& problem : gemm_forms(spec)) {
    EXPECT_TRUE(problem.a.transposed);
    EXPECT_FALSE(problem.b.transposed);
    EXPECT_EQ(problem.a.rows, problem.k);
    EXPECT_EQ(problem.b.rows, problem.k);
    EXPECT_FALSE(problem.fast_accumulation);
    const engine::Verifier::Verdict verdict =
        engine::verify(spec, operands, computed(spec, problem, operands));
    EXPECT_TRUE(verdict.outcome.ok()) << form_text(problem) << ": " << verdict.outcome.reason;
  }
  EXPECT_THROW(static_cast<void>(plain_gemm_problem(spec)), Unsupported);
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    ProductsOf8BitFloats,
    ::testing::Values(
        "v1:matmul;in=f8e4m3[16,32],f8e4m3[32,48]c;out=f32[16,48];acc=f32;math=strict",
        "v1:matmul;in=f8e5m2[2,16,32],f8e4m3[2,32,48];out=bf16[2,16,48];acc=f32;math=strict;"
        "epilogue=relu",
        "v1:matmul;in=f8e4m3[3,16,32],f8e5m2[32,48]c;out=f16[3,16,48];acc=f32;math=strict",
        "v1:gemm;in=f8e4m3[16,32],f8e4m3[32,48]c,bf16[48]c;out=bf16[16,48];acc=f32;math=strict;"
        "alpha=0.5;beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_tanh",
        "v1:gemm;in=f8e4m3[16,32],f8e4m3[32,48]c,f32[48]c;out=f32[16,48];acc=f32;math=strict;"
        "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=relu",
        "v1:gemm;in=f8e4m3[32,16],f8e4m3[48,32]c;out=f32[16,48];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=1;trans_b=1"));

TEST(GemmForms, of_8_bit_floats_fuse_a_bias_of_the_results_type_and_have_it_apart) {
  const auto forms_into = [](const std::string& type) {
    return gemm_forms(
        model::parse_key({"v1:gemm;in=f8e4m3[16,32],f8e4m3[32,48]c," + type + "[48]c;out=" + type +
                          "[16,48];acc=f32;math=strict;alpha=1.0;beta=1.0;trans_a=0;"
                          "trans_b=0;epilogue=relu"}));
  };
  const std::vector<GemmProblem> forms = forms_into("bf16");
  ASSERT_EQ(forms.size(), 2U);
  EXPECT_TRUE(forms[0].bias);
  EXPECT_EQ(form_text(forms[0]), ";operands=made");
  EXPECT_FALSE(forms[1].bias);
  EXPECT_EQ(form_text(forms[1]), ";operands=made;steps=apart");
  const std::vector<GemmProblem> wide = forms_into("f32");
  ASSERT_EQ(wide.size(), 1U) << "beside f32 the bias would have to be bf16";
  EXPECT_FALSE(wide[0].bias);
}

TEST(GemmForms, add_up_fast_only_where_the_key_allows_fewer_digits) {
  const std::string key = "v1:matmul;in=f8e4m3[16,32],f8e4m3[32,48]c;out=bf16[16,48];acc=f32;math=";
  for (const char* const math : {"strict", "deterministic", "tf32"}) {
    EXPECT_EQ(gemm_forms(model::parse_key({key + math})).size(), 1U) << math;
  }
  const std::vector<GemmProblem> forms = gemm_forms(model::parse_key({key + "downconvert"}));
  ASSERT_EQ(forms.size(), 2U);
  EXPECT_FALSE(forms[0].fast_accumulation);
  EXPECT_TRUE(forms[1].fast_accumulation);
  EXPECT_EQ(form_text(forms[1]), ";accumulation=fast;operands=made");
  const model::LayerSpec half = model::parse_key(
      {"v1:matmul;in=f16[16,32],f16[32,48]c;out=f16[16,48];acc=f32;math=downconvert"});
  EXPECT_EQ(gemm_forms(half).size(), 1U);
}

TEST(GemmForms, of_the_library_suites_8_bit_floats_are_one_each) {
  std::ifstream suite(PLUMB_TEST_LIBRARY_GEMM);
  std::size_t found = 0;
  for (std::string line; std::getline(suite, line);) {
    const std::size_t begin = line.find("v1:matmul;in=f8");
    if (begin == std::string::npos) {
      continue;
    }
    const std::vector<GemmProblem> forms =
        gemm_forms(model::parse_key({line.substr(begin, line.rfind('"') - begin)}));
    ASSERT_EQ(forms.size(), 1U);
    EXPECT_EQ(forms[0].k, 4096);
    EXPECT_EQ(forms[0].n, 128);
    EXPECT_EQ(forms[0].d.type, model::DataType::kBf16);
    ++found;
  }
  EXPECT_EQ(found, 2U);
}

TEST(GemmForms, of_8_bit_floats_need_a_gpu_that_has_them) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:matmul;in=f8e4m3[16,32],f8e4m3[32,48]c;out=bf16[16,48];acc=f32;math=strict"});
  EXPECT_NO_THROW(check_capability(spec, 89));
  EXPECT_NO_THROW(check_capability(spec, 90));
  EXPECT_THROW(check_capability(spec, 86), Unsupported);
  EXPECT_NO_THROW(check_capability(
      model::parse_key({"v1:matmul;in=f16[16,32],f16[32,48];out=f16[16,48];acc=f32;math=strict"}),
      75));
}

TEST(GemmProblem, says_what_cublaslt_cannot_do) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(gemm_problem(model::parse_key({key})));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:matmul;in=s8[8,16],s8[16,9];out=s32[8,9];acc=s32;math=strict"),
              HasSubstr("products of s8"));
  EXPECT_THAT(refusal("v1:matmul;in=f8e5m2[8,16],f8e5m2[16,9];out=f32[8,9];acc=f32;math=strict"),
              HasSubstr("f8e5m2 with f8e5m2"));
  EXPECT_THAT(refusal("v1:matmul;in=f8e4m3[8,16],f16[16,9];out=f16[8,9];acc=f32;math=strict"),
              HasSubstr("f8e4m3 with f16"));
  EXPECT_THAT(refusal("v1:matmul;in=f8e4m3[8,16],f8e4m3[16,9];out=f64[8,9];acc=f32;math=strict"),
              HasSubstr("into f64"));
  EXPECT_THAT(refusal("v1:matmul_integer;in=u8[8,16],s8[16,9];out=s32[8,9];acc=s32;math=strict"),
              HasSubstr("s8 with s8"));
  EXPECT_THAT(refusal("v1:matmul_integer;in=s8[8,16],s8[16,9],s8[]c;out=s32[8,9];acc=s32;"
                      "math=strict"),
              HasSubstr("zero points"));
}

TEST(GemmProblem, takes_tf32_only_where_the_key_allows_it) {
  const std::string key = "v1:matmul;in=f32[8,16],f32[16,9];out=f32[8,9];acc=f32;math=";
  EXPECT_FALSE(gemm_problem(model::parse_key({key + "strict"})).tf32);
  EXPECT_FALSE(gemm_problem(model::parse_key({key + "deterministic"})).tf32);
  EXPECT_TRUE(gemm_problem(model::parse_key({key + "tf32"})).tf32);
}

class Vectors : public ::testing::TestWithParam<const char*> {};

TEST_P(Vectors, are_products_by_gemv) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const GemmProblem problem = plain_gemm_problem(spec);
  const std::optional<GemmProblem::Gemv> vectors = gemv_problem(problem);
  ASSERT_TRUE(vectors);
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
  std::vector<model::Tensor> buffers = operands;
  buffers.resize(spec.inputs.size() + 1 + problem.made.size());
  run_steps(problem.before, buffers);
  buffers.at(problem.d.buffer) = multiplied(problem, *vectors, spec.outputs[0], buffers);
  run_steps(problem.behind, buffers);
  const std::vector<model::Tensor> outputs{{spec.outputs[0], buffers.at(spec.inputs.size()).data}};
  const engine::Verifier::Verdict verdict = engine::verify(spec, operands, outputs);
  EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    Vectors,
    ::testing::Values(
        "v1:matmul;in=f32[1,17],f32[17,9]c;out=f32[1,9];acc=f32;math=strict",
        "v1:matmul;in=f32[8,17],f32[17,1]c;out=f32[8,1];acc=f32;math=strict",
        "v1:matmul;in=f64[1,5],f64[5,1];out=f64[1,1];acc=f64;math=strict",
        "v1:gemm;in=f32[17,1],f32[9,17]c,f32[9]c;out=f32[1,9];acc=f32;math=strict;alpha=0.5;"
        "beta=1.0;trans_a=1;trans_b=1;epilogue=relu",
        "v1:gemm;in=f32[8,17],f32[1,17]c;out=f32[8,1];acc=f32;math=strict;alpha=1.0;beta=1.0;"
        "trans_a=0;trans_b=1"));

TEST(Gemv, is_not_asked_for_other_products) {
  for (const char* const key :
       {"v1:matmul;in=f32[2,17],f32[17,9];out=f32[2,9];acc=f32;math=strict",
        "v1:matmul;in=f16[1,17],f16[17,9];out=f16[1,9];acc=f32;math=strict",
        "v1:matmul;in=f32[3,1,17],f32[3,17,9];out=f32[3,1,9];acc=f32;math=strict"}) {
    EXPECT_FALSE(gemv_problem(plain_gemm_problem(model::parse_key({key})))) << key;
  }
}

}  // namespace
}  // namespace plumb::cuda
