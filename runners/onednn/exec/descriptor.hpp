// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/argument.hpp"

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

}  // namespace plumb::onednn
