// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/mapped_copy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plumb::onednn {
namespace {

/// Copies elements or blocks of a size that the compiler knows.
template <std::size_t kBytes>
void copy_blocks(const std::vector<std::int64_t>& offsets,
                 const std::byte* source,
                 std::byte* destination) {
  for (const std::int64_t offset : offsets) {
    std::memcpy(destination, source + offset, kBytes);
    destination += kBytes;
  }
}

bool is_contiguous(const std::vector<std::int64_t>& offsets, std::int64_t step) {
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    if (offsets[index] != static_cast<std::int64_t>(index) * step) {
      return false;
    }
  }
  return true;
}

bool has_fill(const std::vector<std::int64_t>& offsets) {
  return std::find(offsets.begin(), offsets.end(), MappedCopy::kFill) != offsets.end();
}

}  // namespace

std::vector<std::int64_t> strided_offsets(std::int64_t extent, std::int64_t stride) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(extent));
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    offsets[index] = static_cast<std::int64_t>(index) * stride;
  }
  return offsets;
}

MappedCopy::MappedCopy(std::vector<std::vector<std::int64_t>> offsets, std::size_t element_bytes)
    : offsets_(std::move(offsets)), block_bytes_(element_bytes), fill_(element_bytes) {
  for (auto& axis : offsets_) {
    // The offset that all indices share is added only once. Then a part of a dense tensor is
    // recognised as contiguous.
    const std::int64_t shared = axis.empty() || axis.front() == kFill ? 0 : axis.front();
    base_ += shared * static_cast<std::int64_t>(element_bytes);
    for (std::int64_t& offset : axis) {
      offset =
          offset == kFill ? kFill : (offset - shared) * static_cast<std::int64_t>(element_bytes);
    }
  }
  empty_ =
      std::any_of(offsets_.begin(), offsets_.end(), [](const auto& axis) { return axis.empty(); });
  while (!offsets_.empty() &&
         is_contiguous(offsets_.back(), static_cast<std::int64_t>(block_bytes_))) {
    block_bytes_ *= offsets_.back().size();
    offsets_.pop_back();
  }
  inner_bytes_.resize(offsets_.size());
  std::size_t inner = block_bytes_;
  for (std::size_t axis = offsets_.size(); axis-- > 0;) {
    inner_bytes_[axis] = inner;
    inner *= offsets_[axis].size();
  }
}

void MappedCopy::set_fill(std::vector<std::byte> element) {
  fill_ = std::move(element);
}

void MappedCopy::run(const std::byte* source, std::byte* destination) const {
  if (empty_) {
    return;
  }
  source += base_;
  if (offsets_.empty()) {
    std::memcpy(destination, source, block_bytes_);
    return;
  }
  copy_axis(0, source, destination);
}

void MappedCopy::fill(std::size_t bytes, std::byte*& destination) const {
  for (std::size_t done = 0; done < bytes; done += fill_.size()) {
    std::memcpy(destination + done, fill_.data(), fill_.size());
  }
  destination += bytes;
}

void MappedCopy::copy_axis(std::size_t axis,
                           const std::byte* source,
                           std::byte*& destination) const {
  const std::vector<std::int64_t>& offsets = offsets_[axis];
  const bool last = axis + 1 == offsets_.size();
  if (last && (block_bytes_ == 2 || block_bytes_ == 4 || block_bytes_ == 8) && !has_fill(offsets)) {
    if (block_bytes_ == 2) {
      copy_blocks<2>(offsets, source, destination);
    } else if (block_bytes_ == 4) {
      copy_blocks<4>(offsets, source, destination);
    } else {
      copy_blocks<8>(offsets, source, destination);
    }
    destination += block_bytes_ * offsets.size();
    return;
  }
  for (const std::int64_t offset : offsets) {
    if (offset == kFill) {
      fill(inner_bytes_[axis], destination);
    } else if (last) {
      std::memcpy(destination, source + offset, block_bytes_);
      destination += block_bytes_;
    } else {
      copy_axis(axis + 1, source + offset, destination);
    }
  }
}

}  // namespace plumb::onednn
