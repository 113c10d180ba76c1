// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/buffer_block.hpp"

#include <algorithm>
#include <new>
#include <utility>

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

/// Buffers one after the other.
struct Places {
  std::vector<std::size_t> offsets;
  std::size_t end = 0;
};

template <typename Gap>
Places place(std::span<const std::size_t> sizes, const Gap& gap) {
  Places places;
  for (const std::size_t size : sizes) {
    places.end = size >= AlignedBytes::kPage
                     ? sum(rounded_up(places.end, AlignedBytes::kPage), gap())
                     : rounded_up(places.end, AlignedBytes::kLine);
    places.offsets.push_back(places.end);
    places.end = sum(places.end, size);
  }
  return places;
}

}  // namespace

BufferBlock::BufferBlock(std::span<const std::size_t> sizes,
                         std::size_t huge_from,
                         const std::function<std::size_t(std::size_t)>& colour) {
  Places places = place(sizes, [&] { return colour(kColours) * AlignedBytes::kPage; });
  offsets_ = std::move(places.offsets);
  bytes_ = AlignedBytes(places.end, huge_from);
}

std::size_t BufferBlock::mean_bytes(std::span<const std::size_t> sizes, std::size_t huge_from) {
  constexpr std::size_t kMeanGap = (kColours - 1) * AlignedBytes::kPage / 2;
  // A gap of half a page would be rounded up behind the next buffer, so all gaps come at the end.
  const Places packed = place(sizes, [] { return std::size_t{0}; });
  const auto gaps = static_cast<std::size_t>(std::count_if(
      sizes.begin(), sizes.end(), [](std::size_t size) { return size >= AlignedBytes::kPage; }));
  return AlignedBytes::allocated(sum(packed.end, gaps * kMeanGap), huge_from);
}

}  // namespace plumb::onednn
