// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace plumb::onednn {

/// Owns zeroed memory on a cache-line boundary (64 bytes, as oneDNN itself aligns). Touched: no
/// page faults later.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  /// Throws std::bad_alloc.
  explicit AlignedBytes(std::size_t size) : size_(size) {
    if (size > static_cast<std::size_t>(-1) - kAlignment) {
      throw std::bad_alloc();
    }
    const std::size_t rounded = (size / kAlignment + 1) * kAlignment;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
    if (!data_) {
      throw std::bad_alloc();
    }
    std::memset(data_.get(), 0, rounded);
  }

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace plumb::onednn
