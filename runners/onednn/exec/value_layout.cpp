// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/value_layout.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

bool is_blocked(const dnnl::memory::desc& layout) {
  return layout.get_format_kind() == dnnl::memory::format_kind::blocked;
}

/// Computes strides that can be compared, ignoring a block that is the whole innermost extent. For
/// example, in [1, 32, 1, 1] with blocks of 16 channels, the channels lie side by side. Returns
/// false for other blocks and for padding.
bool unblocked_strides(const dnnl::memory::desc& layout, Dims& strides) {
  strides = layout.get_strides();
  if (layout.get_padded_dims() != layout.get_dims() || layout.get_inner_nblks() > 1) {
    return false;
  }
  if (layout.get_inner_nblks() == 0) {
    return true;
  }
  const auto axis = static_cast<std::size_t>(layout.get_inner_idxs()[0]);
  if (strides[axis] != layout.get_inner_blks()[0]) {
    return false;
  }
  strides[axis] = 1;
  return true;
}

}  // namespace

bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  if (a == b) {
    return true;
  }
  if (!is_blocked(a) || !is_blocked(b) || a.get_dims() != b.get_dims() ||
      a.get_data_type() != b.get_data_type()) {
    return false;
  }
  Dims a_strides;
  Dims b_strides;
  if (!unblocked_strides(a, a_strides) || !unblocked_strides(b, b_strides)) {
    return false;
  }
  const Dims dims = a.get_dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] > 1 && a_strides[axis] != b_strides[axis]) {
      return false;
    }
  }
  return true;
}

}  // namespace plumb::onednn
