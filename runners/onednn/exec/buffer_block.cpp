// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/buffer_block.hpp"

#include <new>

namespace plumb::onednn {
namespace {

/// Returns the next multiple of `unit` from `offset` on. Throws std::bad_alloc on overflow.
std::size_t rounded_up(std::size_t offset, std::size_t unit) {
  if (offset > static_cast<std::size_t>(-1) - unit) {
    throw std::bad_alloc();
  }
  return (offset + unit - 1) / unit * unit;
}

std::size_t sum(std::size_t one, std::size_t other) {
  if (one > static_cast<std::size_t>(-1) - other) {
    throw std::bad_alloc();
  }
  return one + other;
}

}  // namespace

BufferBlock::BufferBlock(std::span<const std::size_t> sizes,
                         std::size_t huge_from,
                         const std::function<std::size_t(std::size_t)>& colour) {
  std::size_t end = 0;
  for (const std::size_t size : sizes) {
    if (size >= AlignedBytes::kPage) {
      end = sum(rounded_up(end, AlignedBytes::kPage), colour(kColours) * AlignedBytes::kPage);
    } else {
      end = rounded_up(end, AlignedBytes::kLine);
    }
    offsets_.push_back(end);
    end = sum(end, size);
  }
  bytes_ = AlignedBytes(end, huge_from);
}

}  // namespace plumb::onednn
