// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>

namespace plumb::onednn {

/// Returns whether both descriptors place the elements at the same positions in memory. Strides of
/// extents of 1 do not count.
[[nodiscard]] bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// One place where a value of a model lies, in one layout. Two empty descriptors: dense, in the
/// value's own dimensions.
struct HeldValue {
  std::size_t buffer = 0;
  dnnl::memory::desc view;    ///< how the dense value reads in the dimensions of who made it
  dnnl::memory::desc layout;  ///< how it lies

  /// Returns whether the bytes are the dense value's.
  [[nodiscard]] bool dense() const { return same_bytes(view, layout); }
  /// Returns whether nothing lies between the elements, in whatever order.
  [[nodiscard]] bool packed() const { return layout.get_size() == view.get_size(); }
};

}  // namespace plumb::onednn
