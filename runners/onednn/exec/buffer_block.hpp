// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runners/onednn/exec/aligned_bytes.hpp"

namespace plumb::onednn {

/// Buffers of one slot of a program, in one piece of memory.
///
/// A cache beyond the first level finds a line by its physical address. Buffers in ordinary pages
/// fall on its sets by chance in every process, and some layers then take up to twice as long. In a
/// huge page the offsets decide, so they are drawn at random. Each buffer of a page or more starts
/// at a page, `colour(kColours)` pages after the end of the one before it. Smaller ones start at
/// cache lines.
class BufferBlock {
 public:
  static constexpr std::size_t kColours = 16;  ///< pages until the sets of 1 MiB in 16 ways repeat

  BufferBlock() = default;
  /// Places buffers of the given sizes and allocates their memory. `colour(n)` returns a number
  /// below n. `huge_from` is that of AlignedBytes. Throws std::bad_alloc.
  BufferBlock(std::span<const std::size_t> sizes,
              std::size_t huge_from,
              const std::function<std::size_t(std::size_t)>& colour);

  /// Returns the bytes of a block with its gaps, as they are on average over the draws. Throws
  /// std::bad_alloc on overflow.
  [[nodiscard]] static std::size_t mean_bytes(std::span<const std::size_t> sizes,
                                              std::size_t huge_from);

  [[nodiscard]] bool empty() const { return offsets_.empty(); }
  /// Fills all buffers with zeros.
  void clear() { bytes_.clear(); }

  /// Returns the start of a buffer, in the order of the sizes.
  [[nodiscard]] std::byte* at(std::size_t buffer) const { return bytes_.data() + offsets_[buffer]; }

 private:
  std::vector<std::size_t> offsets_;
  AlignedBytes bytes_;
};

}  // namespace plumb::onednn
