// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plumb::stand_in {

/// Set of bytes of one allocation, in grains of four bytes.
class ByteSet {
 public:
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;  // [begin, end) of grains

  void add(std::size_t offset, std::size_t bytes) {
    const std::size_t end = (offset + bytes + kGrain - 1) / kGrain;
    if (bits_.size() * kBits < end) {
      bits_.resize((end + kBits - 1) / kBits, 0);
    }
    for (std::size_t grain = offset / kGrain; grain < end; ++grain) {
      bits_[grain / kBits] |= std::uint64_t{1} << (grain % kBits);
    }
  }
  /// Adds many bytes at once, whose bits are not set one by one.
  void add_range(std::size_t offset, std::size_t bytes);
  [[nodiscard]] Ranges ranges() const;

  static constexpr std::size_t kGrain = 4;

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<std::uint64_t> bits_;
  Ranges whole_;
};

/// Returns whether two sorted lists of ranges have a grain in common.
[[nodiscard]] bool overlap(const ByteSet::Ranges& a, const ByteSet::Ranges& b);

}  // namespace plumb::stand_in
