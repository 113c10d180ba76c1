// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/reproducer/reproducer_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <variant>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

std::string row_text(const results::Measurement& row) {
  const measure::SampleSummary time = row.corrected();
  return fmt::format("{{{:.9g}, {:.9g}, {:.9g}, {}}}",
                     time.median.count(),
                     time.interval.low.count(),
                     time.interval.high.count(),
                     time.n);
}

std::string title_text(const Reproduction& title) {
  return fmt::format(
      "constexpr const char* kKey = {};\nconstexpr const char* kLibrary = {};\n"
      "constexpr std::uint64_t kSeed = {}U;\n\n",
      cpp_literal(title.key),
      cpp_literal(title.library),
      title.seed);
}

std::string with_variants(std::string_view frame, const std::string& variants) {
  const std::size_t mark = frame.find(kVariantsMark);
  PLUMB_CHECK(mark != std::string_view::npos);
  return fmt::format(
      "{}{}{}", frame.substr(0, mark), variants, frame.substr(mark + kVariantsMark.size()));
}

namespace {

std::string list_text(const std::vector<std::int64_t>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

/// Returns a number as source text. C++ has no literal for what is not finite.
std::string number_text(double value) {
  if (std::isinf(value)) {
    return value < 0 ? "-INFINITY" : "INFINITY";
  }
  return std::isnan(value) ? "NAN" : fmt::format("{:.17g}", value);
}

struct TypeWords {
  const char* cudnn;
  const char* number;
};

TypeWords words_of(abi::CudnnCalls::Type type) {
  switch (type) {
    case abi::CudnnCalls::Type::kFloat:
      return {"CUDNN_DATA_FLOAT", "Number::f32"};
    case abi::CudnnCalls::Type::kHalf:
      return {"CUDNN_DATA_HALF", "Number::f16"};
    case abi::CudnnCalls::Type::kInt8:
      return {"CUDNN_DATA_INT8", "Number::s8"};
    case abi::CudnnCalls::Type::kInt32:
      return {"CUDNN_DATA_INT32", "Number::s32"};
    case abi::CudnnCalls::Type::kBfloat16:
      return {"CUDNN_DATA_BFLOAT16", "Number::bf16"};
    case abi::CudnnCalls::Type::kBoolean:
      return {"CUDNN_DATA_BOOLEAN", "Number::boolean"};
  }
  PLUMB_CHECK(false && "a type without a name");
}

std::string tensor_text(const TensorGraph::Tensor& tensor) {
  const TypeWords words = words_of(tensor.type);
  return fmt::format("{{{}, {}, {}, {}, {}, {}, static_cast<float>({})}}",
                     words.cudnn,
                     words.number,
                     list_text(tensor.dimensions),
                     list_text(tensor.strides),
                     tensor.is_virtual,
                     tensor.value.has_value(),
                     number_text(tensor.value.value_or(0.0F)));
}

std::string_view name_of(TensorGraph::Convolution::Direction direction) {
  switch (direction) {
    case TensorGraph::Convolution::Direction::kForward:
      return "forward";
    case TensorGraph::Convolution::Direction::kBackwardData:
      return "backward_data";
    case TensorGraph::Convolution::Direction::kBackwardWeights:
      return "backward_weights";
  }
  PLUMB_CHECK(false && "a direction without a name");
}

std::string text(const TensorGraph::Convolution& operation) {
  return fmt::format("convolution(Builder::Direction::{}, {}, {}, {}, {}, {}, {}, {}, {})",
                     name_of(operation.direction),
                     words_of(operation.compute).cudnn,
                     operation.image,
                     operation.weights,
                     operation.grid,
                     list_text(operation.strides),
                     list_text(operation.dilations),
                     list_text(operation.pads_before),
                     list_text(operation.pads_after));
}

template <typename Number>
std::int64_t or_none(const std::optional<Number>& value) {
  return value ? static_cast<std::int64_t>(*value) : -1;
}

std::string text(const TensorGraph::Pointwise& operation) {
  const auto bound = [](const std::optional<double>& value) {
    return fmt::format("{}, {}", value.has_value(), number_text(value.value_or(0.0)));
  };
  return fmt::format("pointwise({{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}})",
                     static_cast<int>(operation.mode),
                     operation.input,
                     or_none(operation.operand),
                     or_none(operation.condition),
                     operation.output,
                     words_of(operation.compute).cudnn,
                     or_none(operation.axis),
                     bound(operation.upper_clip),
                     bound(operation.lower_clip_slope),
                     bound(operation.elu_alpha));
}

std::string text(const TensorGraph::Matmul& operation) {
  return fmt::format("matmul({}, {}, {})", operation.left, operation.right, operation.output);
}

std::string text(const TensorGraph::Reduction& operation) {
  return fmt::format("reduction({}, {}, {})",
                     static_cast<int>(operation.reduction),
                     operation.input,
                     operation.output);
}

std::string text(const TensorGraph::Resample& /*operation*/) {
  PLUMB_CHECK(false && "a pool, which no variant executes by a graph");
}

std::string text(const TensorGraph::Reshape& operation) {
  return fmt::format("reshape({}, {})", operation.input, operation.output);
}

std::string text(const TensorGraph::Norm& operation) {
  return fmt::format("norm({}, {}, {}, {}, {}, {})",
                     static_cast<int>(operation.mode),
                     operation.input,
                     operation.scale,
                     operation.bias,
                     operation.epsilon,
                     operation.output);
}

std::string text(const TensorGraph::NormGradient& operation) {
  return fmt::format("norm_gradient({{{}, {}, {}, {}, {}, {}, {}, {}, {}}})",
                     static_cast<int>(operation.mode),
                     operation.gradient,
                     operation.input,
                     operation.scale,
                     operation.mean,
                     operation.inverse_deviation,
                     operation.output,
                     operation.scale_gradient,
                     operation.bias_gradient);
}

std::string graph_text(std::size_t number, const TensorGraph& graph) {
  std::string source = fmt::format("Builder graph_{}() {{\n  Builder builder({{\n", number);
  for (const TensorGraph::Tensor& tensor : graph.tensors) {
    source += fmt::format("      {},\n", tensor_text(tensor));
  }
  source += "  });\n";
  for (const TensorGraph::Operation& operation : graph.operations) {
    source += std::visit(
        [](const auto& value) { return fmt::format("  builder.{};\n", text(value)); }, operation);
  }
  return source + "  return builder;\n}\n\n";
}

std::string knob_text(const std::pair<std::string, std::int64_t>& knob) {
  const std::string& name = knob.first;
  const std::string type =
      name.starts_with('#') ? fmt::format("static_cast<cudnnBackendKnobType_t>({})", name.substr(1))
                            : fmt::format("CUDNN_KNOB_TYPE_{}", name);
  return fmt::format("{{{}, {}}}", type, knob.second);
}

struct MatrixWords {
  const char* type;
  const char* number;
};

MatrixWords words_of(model::DataType type) {
  switch (type) {
    case model::DataType::kF64:
      return {"CUDA_R_64F", "Number::f64"};
    case model::DataType::kF16:
      return {"CUDA_R_16F", "Number::f16"};
    case model::DataType::kBf16:
      return {"CUDA_R_16BF", "Number::bf16"};
    case model::DataType::kS8:
      return {"CUDA_R_8I", "Number::s8"};
    case model::DataType::kS32:
      return {"CUDA_R_32I", "Number::s32"};
    case model::DataType::kF8E4M3:
      return {"CUDA_R_8F_E4M3", "Number::f8e4m3"};
    case model::DataType::kF8E5M2:
      return {"CUDA_R_8F_E5M2", "Number::f8e5m2"};
    default:
      return {"CUDA_R_32F", "Number::f32"};
  }
}

std::string matrix_text(const GemmProblem::Matrix& matrix) {
  const MatrixWords words = words_of(matrix.type);
  return fmt::format("{{{}, {}, {}, {}, {}, {}}}",
                     words.type,
                     words.number,
                     matrix.rows,
                     matrix.columns,
                     matrix.leading,
                     matrix.batch_stride);
}

/// Returns the source text of what the epilogue reads beside the bias: an activation's operand, or
/// its bits.
std::string saved_text(const GemmProblem& problem) {
  if (!problem.saved) {
    return "{0, Number::boolean, 0}";
  }
  constexpr std::int64_t kByteBits = 8;
  const GemmProblem::Matrix& saved = *problem.saved;
  const bool bits = problem.activation == GemmProblem::Activation::kReluGradient;
  const std::int64_t column = bits ? saved.leading / kByteBits : saved.leading;
  return fmt::format("{{{}, {}, {}}}",
                     saved.leading,
                     bits ? "Number::boolean" : words_of(saved.type).number,
                     column * saved.columns);
}

/// Counts the numbers of the bias, or those of its gradient, which stands in its place.
std::int64_t bias_numbers(const GemmProblem& problem) {
  if (problem.bias_gradient) {
    return problem.summed == GemmProblem::Summed::kB ? problem.n : problem.m;
  }
  return problem.bias ? problem.m : 0;
}

std::string product_text(std::size_t number, const GemmProblem& problem) {
  const auto [compute, scale] = computation_of(problem);
  const auto transpose = [](const GemmProblem::Matrix& matrix) {
    return matrix.transposed ? "CUBLAS_OP_T" : "CUBLAS_OP_N";
  };
  GemmProblem::Matrix c = problem.c.value_or(problem.d);
  c.batch_stride = problem.d.batch_stride;
  return fmt::format(
      "Product product_{}() {{\n  return {{static_cast<cublasComputeType_t>({}), "
      "static_cast<cudaDataType_t>({}), {}, {}, static_cast<cublasLtEpilogue_t>({}), {}, {}, {}, "
      "{}, "
      "{}, {}, {},\n          {},\n          {},\n          {},\n          {}}};\n}}\n\n",
      number,
      static_cast<int>(compute),
      static_cast<int>(scale),
      transpose(problem.a),
      transpose(problem.b),
      static_cast<int>(epilogue_of(problem)),
      problem.batch,
      problem.fast_accumulation,
      bias_numbers(problem),
      saved_text(problem),
      number_text(problem.alpha),
      number_text(problem.beta),
      problem.c.has_value(),
      matrix_text(problem.a),
      matrix_text(problem.b),
      matrix_text(c),
      matrix_text(problem.d));
}

}  // namespace

std::string engine_source(const Reproduction& title,
                          const std::vector<Reproduction::Engine>& variants) {
  std::string source = title_text(title);
  std::string list;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Reproduction::Engine& variant = variants[i];
    source += graph_text(i, variant.graph);
    std::vector<std::string> knobs;
    for (const auto& knob : variant.knobs) {
      knobs.push_back(knob_text(knob));
    }
    list += fmt::format("      {{{},\n       {}, graph_{}, {}, {{{}}}}},\n",
                        cpp_literal(variant.row.variant),
                        row_text(variant.row),
                        i,
                        variant.engine,
                        fmt::join(knobs, ", "));
  }
  source += fmt::format("std::vector<Variant> variants() {{\n  return {{\n{}  }};\n}}\n", list);
  return with_variants(cudnn_frame(), source);
}

std::string product_source(const Reproduction& title,
                           const std::vector<Reproduction::Product>& variants) {
  std::string source = title_text(title);
  std::string list;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    source += product_text(i, variants[i].problem);
    const results::Measurement& row = variants[i].row;
    std::vector<std::string> words;
    const auto found = row.attributes.find(kAlgorithmAttribute);
    if (found != row.attributes.end()) {
      for (const std::uint64_t word : parse_algorithm(found->second).data) {
        words.push_back(fmt::format("{:#x}U", word));
      }
    }
    list += fmt::format("      {{{},\n       {}, product_{}, {{{}}}, {}}},\n",
                        cpp_literal(row.variant),
                        row_text(row),
                        i,
                        fmt::join(words, ", "),
                        row.workspace.value);
  }
  source += fmt::format("std::vector<Variant> variants() {{\n  return {{\n{}  }};\n}}\n", list);
  return with_variants(cublaslt_frame(), source);
}

}  // namespace plumb::cuda
