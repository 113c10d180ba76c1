// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>

namespace plumb::onednn {

/// Returns whether both descriptors place the elements at the same positions in memory. Strides of
/// extents of 1 do not count.
[[nodiscard]] bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// Layout in which a model's value lies. Two empty descriptors mean dense, in the value's own
/// dimensions.
struct ValueLayout {
  dnnl::memory::desc view;    ///< the dense value in the dimensions of the step that made it
  dnnl::memory::desc layout;  ///< as it lies in memory

  /// Returns whether the bytes are the dense value's.
  [[nodiscard]] bool dense() const { return same_bytes(view, layout); }
  /// Returns whether the elements lie without gaps, in whatever order.
  [[nodiscard]] bool packed() const { return layout.get_size() == view.get_size(); }
};

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
