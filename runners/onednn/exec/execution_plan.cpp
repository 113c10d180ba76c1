// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/execution_plan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace plumb::onednn {

Step mapped(const Step& step, const std::vector<std::size_t>& map) {
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    return KernelStep([kernel = *kernel, map, own = std::vector<std::byte*>(map.size())](
                          std::span<std::byte* const> buffers) mutable {
      for (std::size_t i = 0; i < map.size(); ++i) {
        own[i] = buffers[map[i]];
      }
      kernel(own);
    });
  }
  auto primitive = std::get<PrimitiveStep>(step);
  for (PrimitiveStep::Argument& argument : primitive.arguments) {
    argument.buffer = map[argument.buffer];
  }
  return primitive;
}

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

namespace {

/// Lists the dimensions by their strides, the largest stride first.
std::vector<std::size_t> order_in_memory(const dnnl::memory::desc& layout) {
  const Dims strides = layout.get_strides();
  const Dims dims = layout.get_dims();
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return strides[left] > strides[right];
  });
  return order;
}

}  // namespace

bool lies_strided(const ValueLayout& held, const Dims& dims) {
  return !held.dense() && held.view.get_format_kind() == dnnl::memory::format_kind::blocked &&
         held.layout.get_format_kind() == dnnl::memory::format_kind::blocked &&
         held.view.get_dims() == dims && held.layout.get_inner_nblks() == 0 && held.packed();
}

std::optional<dnnl::memory::desc> reshaped(const dnnl::memory::desc& layout, const Dims& dims) {
  const dnnl::memory::desc result = layout.reshape(dims, true);
  return result.get(true) == nullptr ? std::nullopt : std::optional(result);
}

ValueLayout::StridedTranspose strided_transpose(const dnnl::memory::desc& source,
                                                std::span<const std::int64_t> perm) {
  std::vector<int> axes(perm.size());
  Dims dims(perm.size());
  const Dims source_dims = source.get_dims();
  for (std::size_t i = 0; i < perm.size(); ++i) {
    axes[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
    dims[i] = source_dims[static_cast<std::size_t>(perm[i])];
  }
  const auto moves = [&](std::size_t axis) {
    return perm[axis] != static_cast<std::int64_t>(axis);
  };
  std::vector<std::size_t> order = order_in_memory(source);
  std::size_t next = 0;
  for (std::size_t& axis : order) {
    if (moves(axis)) {
      while (!moves(next)) {
        ++next;
      }
      axis = next++;
    }
  }
  Dims strides(perm.size());
  dnnl::memory::dim stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= dims[*axis];
  }
  return {source.permute_axes(axes), {dims, source.get_data_type(), strides}};
}

}  // namespace plumb::onednn
