// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb::onednn {

/// Copy of elements whose source position is a sum of one offset for each axis.
///
/// Slice, pad, tile, expand, transpose and nearest resize all have this form. Running it allocates
/// nothing. Thread-safe after construction.
class MappedCopy {
 public:
  static constexpr std::int64_t kFill = INT64_MIN;

  /// Prepares the copy. `offsets[axis][i]` is what index i of an output axis adds to the source
  /// position, in elements. With kFill the element is the fill value, whatever the other axes say.
  MappedCopy(std::vector<std::vector<std::int64_t>> offsets, std::size_t element_bytes);

  /// Sets the element for positions without a source; zero unless set.
  void set_fill(std::vector<std::byte> element);

  void run(const std::byte* source, std::byte* destination) const;

 private:
  void copy_axis(std::size_t axis, const std::byte* source, std::byte*& destination) const;
  void fill(std::size_t bytes, std::byte*& destination) const;

  std::vector<std::vector<std::int64_t>>
      offsets_;                           // in bytes; trailing contiguous axes are one block
  std::vector<std::size_t> inner_bytes_;  // of one step of each axis
  std::size_t block_bytes_;
  std::int64_t base_ = 0;  // bytes that every element's position has in common
  bool empty_ = false;
  std::vector<std::byte> fill_;
};

/// Returns the offsets i·stride of an axis.
[[nodiscard]] std::vector<std::int64_t> strided_offsets(std::int64_t extent, std::int64_t stride);

}  // namespace plumb::onednn
