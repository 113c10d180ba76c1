// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/gemm_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/tensor.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

const model::TensorType& operand(const model::LayerSpec& spec, std::size_t index) {
  if (!spec.has_input(index) || !spec.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is missing or not dense", index));
  }
  return *spec.inputs[index];
}

/// Row-major operand of a matrix product: its last two axes, and the batch axes before them.
struct RowMajor {
  Dimensions batch;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Returns an operand as a matrix. As in numpy, a vector is one row on the left, one column on the
/// right.
RowMajor row_major(const model::TensorType& type, bool left) {
  const Dimensions& dims = type.dims;
  if (dims.empty()) {
    throw Unsupported("a product with a scalar");
  }
  if (dims.size() == 1) {
    return left ? RowMajor{{}, 1, dims[0]} : RowMajor{{}, dims[0], 1};
  }
  return {Dimensions(dims.begin(), dims.end() - 2), dims[dims.size() - 2], dims.back()};
}

std::int64_t multiply_extents(const Dimensions& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    product *= extent;
  }
  return product;
}

/// Returns a matrix stored by rows as one stored by columns: the same bytes, transposed.
GemmProblem::Matrix by_columns(model::DataType type,
                               std::size_t buffer,
                               std::int64_t rows,
                               std::int64_t columns) {
  return {type, buffer, columns, rows, columns, 0, false};
}

/// Checks the types of a product of 8-bit floats against those that cuBLASLt's documentation lists.
/// Throws Unsupported for others.
void check_f8(const model::LayerSpec& spec) {
  const model::DataType a = operand(spec, 0).dtype;
  const model::DataType b = operand(spec, 1).dtype;
  const model::DataType y = spec.outputs.at(0).dtype;
  if (!model::is_f8(a) || !model::is_f8(b) || (a == model::DataType::kF8E5M2 && b == a)) {
    throw Unsupported(fmt::format("cuBLASLt does not multiply {} with {}", to_text(a), to_text(b)));
  }
  if (y != model::DataType::kF32 && y != model::DataType::kBf16 && y != model::DataType::kF16) {
    throw Unsupported(fmt::format("products of 8-bit floats into {}", to_text(y)));
  }
}

void check_types(const model::LayerSpec& spec) {
  const model::DataType type = operand(spec, 0).dtype;
  if (spec.op == "matmul_integer") {
    if (type != model::DataType::kS8 || operand(spec, 1).dtype != type || spec.inputs.size() > 2) {
      throw Unsupported("cuBLASLt multiplies s8 with s8, without zero points");
    }
    return;
  }
  if (multiplies_f8(spec)) {
    check_f8(spec);
    return;
  }
  const bool known = type == model::DataType::kF32 || type == model::DataType::kF16 ||
                     type == model::DataType::kBf16 || type == model::DataType::kF64;
  if (!known || operand(spec, 1).dtype != type || spec.outputs.at(0).dtype != type) {
    throw Unsupported(fmt::format("products of {} with {} into {}",
                                  to_text(type),
                                  to_text(operand(spec, 1).dtype),
                                  to_text(spec.outputs[0].dtype)));
  }
}

/// Kinds of operation that cuBLASLt is to fuse after the product itself.
struct Fusing {
  bool steps = true;
  bool gradients = true;
};

std::size_t result_buffer(const model::LayerSpec& spec) {
  return spec.inputs.size();
}

/// Fuses an activation's gradient if cuBLASLt has it. Returns whether it did.
bool fuse_gradient(const model::LayerSpec& spec,
                   const model::Epilogue& step,
                   GemmProblem& problem) {
  constexpr std::int64_t kByteBits = 8;
  constexpr std::int64_t kColumnStep = 8;  // of the saved operand's columns, in elements
  if (!step.operand || problem.batch != 1) {
    return false;
  }
  const model::TensorType& saved = operand(spec, *step.operand);
  if (step.fn == model::kBitMask) {
    problem.activation = GemmProblem::Activation::kReluGradient;
    problem.saved = GemmProblem::Matrix{
        saved.dtype, *step.operand, problem.m, problem.n, saved.dims.back() * kByteBits, 0, false};
    return true;
  }
  if (step.fn != "gelu_tanh_backward" || saved.dims != spec.outputs[0].dims ||
      saved.dtype != problem.d.type || problem.m % kColumnStep != 0) {
    return false;
  }
  problem.activation = GemmProblem::Activation::kGeluTanhGradient;
  problem.saved = by_columns(saved.dtype, *step.operand, problem.n, problem.m);
  return true;
}

/// Fuses a bias gradient if cuBLASLt has it. Returns whether it did. cuBLASLt has it for a factor
/// alone, or after an activation's gradient.
bool fuse_bias_gradient(const model::LayerSpec& spec, GemmProblem& problem) {
  if (spec.outputs.at(1).dtype != problem.d.type) {
    return false;
  }
  const std::string& of = spec.text("of");
  if ((of == "y") != problem.saved.has_value() || (of != "y" && !spec.epilogue.empty())) {
    return false;
  }
  // The layer's left factor is the product's right one.
  problem.summed = of == "y" ? GemmProblem::Summed::kD
                             : (of == "a" ? GemmProblem::Summed::kB : GemmProblem::Summed::kA);
  problem.bias_gradient = result_buffer(spec) + 1;
  return true;
}

/// Fuses what cuBLASLt has, and leaves the rest to built-in kernels after the product.
void read_epilogue(const model::LayerSpec& spec, const Fusing& fusing, GemmProblem& problem) {
  model::LayerSpec rest = spec;
  const std::string fn = spec.epilogue.size() == 1 ? spec.epilogue[0].fn : "";
  bool fused = false;
  if (fusing.steps && fn == "relu") {
    problem.activation = GemmProblem::Activation::kRelu;
    fused = true;
  } else if (fusing.steps && fn == "gelu_tanh") {
    problem.activation = GemmProblem::Activation::kGeluTanh;
    fused = true;
  } else if (fusing.gradients && !fn.empty()) {
    fused = fuse_gradient(spec, spec.epilogue[0], problem);
  }
  if (fused) {
    rest.epilogue.clear();
  }
  if (spec.op == "gemm_bias_gradient" && fusing.gradients && fuse_bias_gradient(spec, problem)) {
    rest.outputs.resize(1);
  }
  if (spec.op == "gemm" && rest.inputs.size() > 2) {
    rest.inputs[2].reset();  // the product itself adds C
  }
  problem.behind = split_layer(rest).behind;
}

/// Adds a step that makes a tensor of an operand, and returns its buffer.
std::size_t make_before(const model::LayerSpec& spec,
                        GemmProblem& problem,
                        std::size_t index,
                        std::string op,
                        Dimensions extents) {
  const model::TensorType& from = operand(spec, index);
  model::TensorType to{from.dtype, std::move(extents), false, {}};
  BuiltinLayer::Step step;
  step.spec.op = std::move(op);
  step.spec.accumulate = spec.accumulate;
  step.spec.inputs = {from};
  step.spec.outputs = {to};
  step.inputs = {index};
  step.output = result_buffer(spec) + spec.outputs.size() + problem.made.size();
  problem.made.push_back(std::move(to));
  problem.before.push_back(std::move(step));
  return problem.before.back().output;
}

/// Repeats an operand's matrices for a batch that it is broadcast to. Returns the buffer.
std::size_t repeated(const model::LayerSpec& spec,
                     GemmProblem& problem,
                     std::size_t index,
                     const RowMajor& matrix,
                     const Dimensions& batch) {
  Dimensions extents = batch;
  extents.push_back(matrix.rows);
  extents.push_back(matrix.columns);
  return make_before(spec, problem, index, "expand", std::move(extents));
}

/// Transposes an operand's matrices into columns of k numbers. Returns the buffer.
std::size_t turned(const model::LayerSpec& spec, GemmProblem& problem, std::size_t index) {
  Dimensions extents = operand(spec, index).dims;
  if (extents.size() == 1) {
    return index;  // one column lies the same
  }
  std::vector<std::int64_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(extents.end()[-1], extents.end()[-2]);
  std::swap(order.end()[-1], order.end()[-2]);
  const std::size_t buffer = make_before(spec, problem, index, "transpose", std::move(extents));
  problem.before.back().spec.attributes["perm"] = std::move(order);
  return buffer;
}

GemmProblem matrix_product(const model::LayerSpec& spec) {
  const RowMajor left = row_major(operand(spec, 0), true);
  const RowMajor right = row_major(operand(spec, 1), false);
  GemmProblem problem;
  const model::DataType type = operand(spec, 0).dtype;
  std::int64_t rows = left.rows;
  std::int64_t left_batch = multiply_extents(left.batch);
  std::int64_t right_batch = multiply_extents(right.batch);
  std::size_t left_buffer = 0;
  std::size_t right_buffer = 1;
  if (right_batch == 1) {
    rows *= left_batch;  // one tall matrix
  } else if (left_batch != 1 && left.batch != right.batch) {
    const Dimensions& result = spec.outputs.at(0).dims;
    // Neither operand is a vector: a vector has no batch.
    const Dimensions batch(result.begin(), result.end() - 2);
    const std::int64_t count = multiply_extents(batch);
    if (left_batch != count) {
      left_buffer = repeated(spec, problem, 0, left, batch);
    }
    if (right_batch != count) {
      right_buffer = repeated(spec, problem, 1, right, batch);
    }
    left_batch = right_batch = problem.batch = count;
  } else {
    problem.batch = right_batch;
  }
  problem.m = right.columns;
  problem.n = rows;
  problem.k = right.rows;
  const model::DataType right_type = operand(spec, 1).dtype;
  if (spec.op == "matmul_integer" || multiplies_f8(spec)) {
    if (right_buffer != 1) {
      throw Unsupported("integers or 8-bit floats whose right operand is broadcast in part");
    }
    problem.a = by_columns(right_type, turned(spec, problem, 1), right.columns, right.rows);
    problem.a.transposed = true;  // cuBLASLt's only form for these types
  } else {
    problem.a = by_columns(right_type, right_buffer, right.rows, right.columns);
  }
  problem.b = by_columns(type, left_buffer, rows, left.columns);
  problem.d = by_columns(spec.outputs.at(0).dtype, result_buffer(spec), rows, right.columns);
  if (problem.batch > 1) {
    problem.a.batch_stride = right.rows * right.columns;
    problem.b.batch_stride = left_batch == 1 ? 0 : left.rows * left.columns;
    problem.d.batch_stride = left.rows * right.columns;
  }
  return problem;
}

void read_addend(const model::LayerSpec& spec, bool fused, GemmProblem& problem) {
  if (!spec.has_input(2)) {
    return;
  }
  const model::TensorType& c = operand(spec, 2);
  const double beta = spec.real("beta");
  if (c.dtype != spec.outputs[0].dtype) {
    throw Unsupported("C of a different type than the result");
  }
  const Dimensions& dims = c.dims;
  const bool a_row =
      element_count(c) == problem.m && !dims.empty() && dims.back() == problem.m && problem.m > 1;
  if (fused && dims == spec.outputs[0].dims && !(a_row && beta == 1.0)) {
    problem.c = by_columns(c.dtype, 2, problem.n, problem.m);
    problem.beta = beta;
  } else if (fused && a_row && beta == 1.0) {
    problem.bias = 2;
  } else if (beta != 0.0) {
    // C is expanded into the result first, and the product adds to it.
    make_before(spec, problem, 2, "expand", spec.outputs[0].dims);
    problem.before.back().output = result_buffer(spec);
    problem.made.pop_back();
    problem.c = problem.d;
    problem.beta = beta;
  }
}

GemmProblem general_product(const model::LayerSpec& spec, const Fusing& fusing) {
  const model::TensorType& a = operand(spec, 0);
  const model::TensorType& b = operand(spec, 1);
  if (a.dims.size() != 2 || b.dims.size() != 2) {
    throw Unsupported("operands that are not matrices");
  }
  const bool transpose_left = spec.integer("trans_a") != 0;
  const bool transpose_right = spec.integer("trans_b") != 0;
  GemmProblem problem;
  problem.m = b.dims[transpose_right ? 0 : 1];
  problem.n = a.dims[transpose_left ? 1 : 0];
  problem.k = a.dims[transpose_left ? 0 : 1];
  problem.a = by_columns(b.dtype, 1, b.dims[0], b.dims[1]);
  problem.a.transposed = transpose_right;
  problem.b = by_columns(a.dtype, 0, a.dims[0], a.dims[1]);
  problem.b.transposed = transpose_left;
  problem.d = by_columns(spec.outputs.at(0).dtype, result_buffer(spec), problem.n, problem.m);
  if (multiplies_f8(spec) && !transpose_right) {  // columns of k numbers are the only form
    problem.a = by_columns(b.dtype, turned(spec, problem, 1), problem.m, problem.k);
    problem.a.transposed = true;
  }
  if (multiplies_f8(spec) && transpose_left) {
    problem.b = by_columns(a.dtype, turned(spec, problem, 0), problem.n, problem.k);
  }
  problem.alpha = spec.real("alpha");
  if (spec.op == "gemm") {
    read_addend(spec, fusing.steps, problem);
  }
  return problem;
}

/// Returns what of `wanted` cuBLASLt can fuse. Of 8-bit floats the bias has the result's type, or
/// bf16 beside f32, and gradients are not fused.
Fusing possible(const model::LayerSpec& spec, const Fusing& wanted) {
  if (!multiplies_f8(spec)) {
    return wanted;
  }
  const bool other_bias =
      spec.op == "gemm" && spec.outputs[0].dtype == model::DataType::kF32 && spec.has_input(2);
  return {wanted.steps && !other_bias, false};
}

GemmProblem translated(const model::LayerSpec& spec, const Fusing& wanted) {
  check_types(spec);
  const Fusing fusing = possible(spec, wanted);
  const bool general = spec.op == "gemm" || spec.op == "gemm_bias_gradient";
  if (!general && spec.op != "matmul" && spec.op != "matmul_integer") {
    throw Unsupported(fmt::format("'{}' is not a product", spec.op));
  }
  GemmProblem problem = general ? general_product(spec, fusing) : matrix_product(spec);
  read_epilogue(spec, fusing, problem);
  problem.tf32 = operand(spec, 0).dtype == model::DataType::kF32 &&
                 (spec.math == model::LayerSpec::MathClass::kTf32 ||
                  spec.math == model::LayerSpec::MathClass::kDownConvert);
  if (problem.m <= 0 || problem.n <= 0 || problem.k <= 0 || problem.batch <= 0) {
    throw Unsupported("a matrix without elements");
  }
  return problem;
}

}  // namespace

GemmProblem gemm_problem(const model::LayerSpec& spec) {
  return translated(spec, {});
}

GemmProblem gemm_problem_with_gradients_apart(const model::LayerSpec& spec) {
  return translated(spec, {true, false});
}

std::vector<GemmProblem> gemm_forms(const model::LayerSpec& spec) {
  std::vector<GemmProblem> forms{gemm_problem(spec)};
  const GemmProblem& first = forms.front();
  const bool fused = first.bias || first.activation != GemmProblem::Activation::kNone;
  try {
    if (first.saved || first.bias_gradient) {
      forms.push_back(gemm_problem_with_gradients_apart(spec));
    } else if (multiplies_f8(spec) && fused) {
      forms.push_back(translated(spec, {false, false}));
    }
  } catch (const Unsupported&) {  // a mask of bits has only the fused form
  }
  if (multiplies_f8(spec) && spec.math == model::LayerSpec::MathClass::kDownConvert) {
    const std::size_t exact = forms.size();
    for (std::size_t i = 0; i < exact; ++i) {
      forms.push_back(forms[i]);
      forms.back().fast_accumulation = true;
    }
  }
  return forms;
}

bool multiplies_f8(const model::LayerSpec& spec) {
  const auto reads = [&](std::size_t index) {
    return spec.has_input(index) && model::is_f8(spec.inputs[index]->dtype);
  };
  return reads(0) || reads(1);
}

void check_capability(const model::LayerSpec& spec, int architecture) {
  constexpr int kFirstWithF8 = 89;
  if (multiplies_f8(spec) && architecture < kFirstWithF8) {
    throw Unsupported(fmt::format(
        "products of 8-bit floats need compute capability 8.9 or newer: this GPU has {}.{}",
        architecture / 10,
        architecture % 10));
  }
}

GemmProblem plain_gemm_problem(const model::LayerSpec& spec) {
  if (multiplies_f8(spec)) {
    throw Unsupported("cuBLAS' older calls do not multiply 8-bit floats");
  }
  return translated(spec, {false, false});
}

std::optional<GemmProblem::Gemv> gemv_problem(const GemmProblem& problem) {
  const model::DataType type = problem.d.type;
  if (problem.batch != 1 || (problem.m != 1 && problem.n != 1) ||
      (type != model::DataType::kF32 && type != model::DataType::kF64) || problem.a.type != type ||
      problem.b.type != type) {
    return std::nullopt;
  }
  GemmProblem::Gemv result;
  result.type = type;
  if (problem.n == 1) {  // D is a column: op(A) by op(B)'s column
    result.a = problem.a;
    result.x = {problem.b.buffer, problem.b.transposed ? problem.b.leading : 1};
    result.y = {problem.d.buffer, 1};
  } else {  // D is a row: transposed, op(B) transposed by op(A)'s row
    result.a = problem.b;
    result.a.transposed = !problem.b.transposed;
    result.x = {problem.a.buffer, problem.a.transposed ? 1 : problem.a.leading};
    result.y = {problem.d.buffer, problem.d.leading};
  }
  return result;
}

}  // namespace plumb::cuda
