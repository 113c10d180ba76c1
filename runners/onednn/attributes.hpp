// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/descriptor.hpp"

namespace plumb::onednn {

/// Element-wise function in oneDNN's terms.
struct EltwiseAlgorithm {
  dnnl_alg_kind_t kind = dnnl_alg_kind_undef;
  float alpha = 0;
  float beta = 0;
};

/// Maps a function of docs/reference/layer-keys.md; empty if oneDNN has none that computes the
/// same. Throws Unsupported if parameters are missing.
[[nodiscard]] std::optional<EltwiseAlgorithm> eltwise_algorithm(
    const std::string& fn, const std::vector<double>& parameters);

/// Maps a function of two operands; empty if oneDNN has none.
[[nodiscard]] std::optional<dnnl_alg_kind_t> binary_algorithm(const std::string& fn);

/// Makes the attributes every primitive has: our own scratchpad, and the precision that the key
/// promises. Throws Unsupported if the library cannot keep that promise.
[[nodiscard]] dnnl::primitive_attr attributes_of(const LayerSpec& spec);

/// Form in which a post-operation reads an operand, and the operand's layout in memory.
struct OperandForm {
  dnnl::memory::desc read;
  dnnl::memory::desc view;
};
using OperandForms = std::function<OperandForm(const TensorType& type)>;

/// Epilogue as post-operations, with the operands that they read.
struct PostOperations {
  dnnl::post_ops list;
  std::vector<Argument> arguments;

  /// Appends x ↦ factor·x unless factor is 1.
  void append_scale(float factor);
  /// Appends a function of the result and an operand, broadcast to the result's dimensions (numpy's
  /// rule).
  void append_binary(const LayerSpec& spec,
                     dnnl_alg_kind_t kind,
                     std::size_t operand,
                     const dnnl::memory::dims& result,
                     Layout layout);
  /// The same, read in a form of the caller's.
  void append_binary(const LayerSpec& spec,
                     dnnl_alg_kind_t kind,
                     std::size_t operand,
                     const OperandForms& form_of);
  /// Appends the whole epilogue. Throws Unsupported for a function that oneDNN has not.
  void append_epilogue(const LayerSpec& spec, const dnnl::memory::dims& result, Layout layout);
  /// The same, of a result in other dimensions than the key's.
  void append_epilogue(const LayerSpec& spec, const OperandForms& form_of);
};

}  // namespace plumb::onednn
