// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/reproducer/recurrent_source.hpp"

#include <fmt/format.h>

#include "harness/base/cpp_literal.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/reproducer/frame.hpp"

namespace plumb::cuda {
namespace {

/// Returns the name of replay.hpp's type for one of cuDNN's. Throws Unsupported for one that
/// recurrent layers lack.
const char* number_of(abi::Type type) {
  switch (type) {
    case abi::Type::kFloat:
      return "Number::f32";
    case abi::Type::kHalf:
      return "Number::f16";
    case abi::Type::kBfloat16:
      return "Number::bf16";
    default:
      throw Unsupported("a recurrent layer of a type other than f32, f16 and bf16");
  }
}

std::string layer_text(const RecurrentProblem& problem) {
  const model::RecurrentShape& s = problem.shape;
  return fmt::format(
      "Layer layer() {{\n  return {{static_cast<cudnnRNNMode_t>({}), "
      "static_cast<cudnnRNNBiasMode_t>({}), static_cast<cudnnDataType_t>({}), {}, "
      "static_cast<cudnnMathType_t>({}),\n          {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};\n"
      "}}\n\n",
      static_cast<int>(problem.cell),
      static_cast<int>(problem.bias),
      static_cast<int>(problem.type),
      number_of(problem.type),
      static_cast<int>(problem.math),
      problem.batch_first,
      s.steps,
      s.batch,
      s.input,
      s.hidden,
      s.directions,
      problem.h0.has_value(),
      problem.c0.has_value(),
      problem.h.has_value(),
      problem.c.has_value());
}

}  // namespace

std::string recurrent_source(const ReproducerTitle& title,
                             const RecurrentProblem& problem,
                             const std::vector<RecurrentVariant>& variants) {
  std::string list;
  for (const RecurrentVariant& variant : variants) {
    list += fmt::format("      {{{},\n       {}, static_cast<cudnnRNNAlgo_t>({})}},\n",
                        cpp_literal(variant.row.variant),
                        row_text(variant.row),
                        static_cast<int>(variant.algorithm));
  }
  return with_variants(
      recurrent_frame(),
      title_text(title) + layer_text(problem) +
          fmt::format("std::vector<Variant> variants() {{\n  return {{\n{}  }};\n}}\n", list));
}

}  // namespace plumb::cuda
