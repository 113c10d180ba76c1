// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Memory layouts of a layer's activations.
enum class Layout { kAny, kPlain, kChannelsLast, kBlocked16, kBlocked8 };
[[nodiscard]] std::string to_text(
    Layout layout);  ///< "any", "plain", "channels_last", "blocked16", …

/// Returns oneDNN's element type; bool is u8. Throws Unsupported for types that oneDNN lacks.
[[nodiscard]] dnnl::memory::data_type library_type(model::DataType type);

/// Describes an operand's dense data. A scalar is [1]. Throws Unsupported beyond 12 dimensions.
[[nodiscard]] dnnl::memory::desc dense(const model::TensorType& type);
/// Describes dense data under other dimensions with the same number of elements.
[[nodiscard]] dnnl::memory::desc dense(model::DataType type, const dnnl::memory::dims& dims);
/// Describes data whose layout is left to the primitive.
[[nodiscard]] dnnl::memory::desc any(model::DataType type, const dnnl::memory::dims& dims);
/// Describes an activation [N, C, spatial…] in a layout.
[[nodiscard]] dnnl::memory::desc activation(model::DataType type,
                                            const dnnl::memory::dims& dims,
                                            Layout layout);

/// Lists the layouts that differ for activations of this rank. It serves primitives that take any
/// layout as given.
[[nodiscard]] std::vector<Layout> given_layouts(std::size_t rank);

/// Returns the strides of dense data, in elements.
[[nodiscard]] dnnl::memory::dims dense_strides(const dnnl::memory::dims& dims);

/// Returns the extents with 1s put in front until there are `rank` of them.
[[nodiscard]] dnnl::memory::dims padded_to_rank(const std::vector<std::int64_t>& dims,
                                                std::size_t rank);

/// Makes the argument of an operand, a weight if the operand is constant.
[[nodiscard]] Argument input(const model::LayerSpec& spec,
                             int index,
                             std::size_t operand,
                             dnnl::memory::desc view);
[[nodiscard]] Argument output(int index, std::size_t operand, dnnl::memory::desc view);

/// Returns oneDNN's algorithm for a function of two operands, or nothing if there is none.
[[nodiscard]] std::optional<dnnl_alg_kind_t> binary_algorithm(const std::string& fn);

/// Makes the attributes of every primitive: a scratchpad of the program's own, and the key's
/// precision. Throws Unsupported if the library cannot keep that precision.
[[nodiscard]] dnnl::primitive_attr make_attributes(const model::LayerSpec& spec);

/// Fuses the epilogue of a batch normalisation. Throws Unsupported if it is more than a relu.
void fuse_relu(const model::LayerSpec& spec, dnnl::primitive_attr& attributes);

/// Epilogue as post-operations, with the operands that they read.
struct PostOperations {
  /// Element-wise function in oneDNN's terms.
  struct Algorithm {
    dnnl_alg_kind_t kind = dnnl_alg_kind_undef;
    float alpha = 0;
    float beta = 0;
  };

  /// Form in which a post-operation reads an operand, and the operand's layout in memory.
  struct OperandForm {
    dnnl::memory::desc read;
    dnnl::memory::desc view;
  };
  using OperandForms = std::function<OperandForm(const model::TensorType& type)>;

  dnnl::post_ops list;
  std::vector<Argument> arguments;

  /// Appends x ↦ factor·x, unless factor is 1.
  void append_scale(float factor);
  /// Appends a function of the result and an operand. The operand is broadcast to the result's
  /// dimensions by numpy's rule.
  void append_binary(const model::LayerSpec& spec,
                     dnnl_alg_kind_t kind,
                     std::size_t operand,
                     const dnnl::memory::dims& result,
                     Layout layout);
  /// Appends a function of the result and an operand, which is read in the caller's form.
  void append_binary(const model::LayerSpec& spec,
                     dnnl_alg_kind_t kind,
                     std::size_t operand,
                     const OperandForms& form_of);
  /// Appends the whole epilogue. Throws Unsupported for a function that oneDNN lacks.
  void append_epilogue(const model::LayerSpec& spec,
                       const dnnl::memory::dims& result,
                       Layout layout);
  /// Appends the whole epilogue of a result whose dimensions differ from the key's.
  void append_epilogue(const model::LayerSpec& spec, const OperandForms& form_of);
};

/// Returns oneDNN's algorithm for a function of docs/reference/layer-keys.md. Returns nothing if
/// none computes the same. Throws Unsupported for another number of parameters.
[[nodiscard]] std::optional<PostOperations::Algorithm> eltwise_algorithm(
    const std::string& fn, const std::vector<double>& parameters);

}  // namespace plumb::onednn
