// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>

#include "runners/onednn/exec/value_layout.hpp"

namespace plumb::onednn {

/// Returns whether a value lies in a permuted order of its own dimensions, `dims`. It has no blocks
/// and no gaps, and the order is not the dense one. Channels last is an example.
[[nodiscard]] bool lies_strided(const ValueLayout& held, const dnnl::memory::dims& dims);

/// Describes the same bytes under other extents. Returns nothing if neighbouring elements under the
/// new extents lie apart.
[[nodiscard]] std::optional<dnnl::memory::desc> reshaped(const dnnl::memory::desc& layout,
                                                         const dnnl::memory::dims& dims);

/// Transposition that keeps the order in which dimensions lie. The dimensions that move share the
/// places in memory that they had, in the order of the result.
struct StridedTranspose {
  dnnl::memory::desc from;    ///< the source's bytes in the result's dimensions
  dnnl::memory::desc layout;  ///< of the result
};
/// Plans the transposition result[i] = source[perm[i]] over the dimensions of a strided source.
[[nodiscard]] StridedTranspose strided_transpose(const dnnl::memory::desc& source,
                                                 std::span<const std::int64_t> perm);

}  // namespace plumb::onednn
