// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

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

}  // namespace plumb::onednn
