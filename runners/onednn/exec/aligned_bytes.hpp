// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace plumb::onednn {

/// Zeroed memory whose pages have all been touched, so that none faults later.
///
/// From `huge_from` bytes on it lies in huge pages (2 MiB) of its own, where the kernel grants them
/// on request (`transparent_hugepage` is madvise or always). Smaller memory begins at a page, and
/// memory below a page at a cache line (64 bytes, as oneDNN itself aligns).
class AlignedBytes {
 public:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kHugeFrom = std::size_t{64} << 10;

  AlignedBytes() = default;
  /// Allocates `size` bytes. Throws std::bad_alloc.
  explicit AlignedBytes(std::size_t size, std::size_t huge_from = kHugeFrom) : size_(size) {
    const std::size_t unit = unit_of(size, huge_from);
    const std::size_t rounded = allocated(size, huge_from);
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(unit, rounded)));
    if (!data_) {
      throw std::bad_alloc();
    }
    if (unit == kHugePage) {
      // Kernels without huge pages refuse. Small pages are as correct, only less repeatable.
      static_cast<void>(madvise(data_.get(), rounded, MADV_HUGEPAGE));
    }
    std::memset(data_.get(), 0, rounded);
  }

  /// Returns the bytes that are allocated for `size`: whole pages or lines. Throws std::bad_alloc.
  [[nodiscard]] static std::size_t allocated(std::size_t size, std::size_t huge_from = kHugeFrom) {
    const std::size_t unit = unit_of(size, huge_from);
    if (size > static_cast<std::size_t>(-1) - unit) {
      throw std::bad_alloc();
    }
    return (size / unit + 1) * unit;
  }

  void clear() {
    if (size_ > 0) {
      std::memset(data_.get(), 0, size_);
    }
  }

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  static std::size_t unit_of(std::size_t size, std::size_t huge_from) {
    return size >= huge_from ? kHugePage : size >= kPage ? kPage : kLine;
  }

  struct Free {
    void operator()(std::byte* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace plumb::onednn
