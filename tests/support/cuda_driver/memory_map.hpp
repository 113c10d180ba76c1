// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/cuda_driver/access_set.hpp"
#include "tests/support/cuda_driver/findings.hpp"
#include "tests/support/cuda_driver/vector_time.hpp"

namespace plumb::stand_in {

/// What one work read and wrote of one allocation.
struct AccessRecord {
  Epoch epoch;
  std::string name;
  ByteSet::Ranges reads;
  ByteSet::Ranges writes;
};

/// One piece of the device's memory, live or freed.
struct Allocation {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  bool live = true;
  std::vector<AccessRecord> records;  ///< that a later work may be unordered with
};

/// What a work touched so far, by allocation. One thread uses it at a time.
class AccessLog {
 public:
  struct Touched {
    std::shared_ptr<Allocation> allocation;
    ByteSet reads;
    ByteSet writes;
  };
  std::map<std::uint64_t, Touched> touched;  ///< by address of the allocation
};

/// Memory of the device: a range of the process' addresses that are never used twice. An access to
/// a freed or a foreign address therefore always shows.
class MemoryMap {
 public:
  explicit MemoryMap(Findings& findings);

  /// Returns the address of new memory, or 0 if it is short. The memory holds no zeros.
  [[nodiscard]] std::uint64_t allocate(std::size_t bytes);
  /// Returns false if no live allocation begins there.
  [[nodiscard]] bool release(std::uint64_t address);
  /// Returns the allocation that begins at or last before an address of the device's range. Null:
  /// the address is not the device's.
  [[nodiscard]] std::shared_ptr<Allocation> find(std::uint64_t address) const;
  [[nodiscard]] bool is_device(std::uint64_t address) const;
  /// Returns whether all bytes lie in one live allocation.
  [[nodiscard]] bool valid(std::uint64_t address, std::size_t bytes) const;

  /// Compares what a work touched with earlier works that did not happen before it, and keeps it.
  void commit(const AccessLog& log, const std::string& name, Epoch epoch, const VectorTime& time);
  /// Forgets works that happened before all that may still come.
  void forget(const VectorTime& before);

  void set_capacity(std::size_t bytes) { capacity_ = bytes; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t live() const;

 private:
  mutable std::mutex mutex_;
  Findings& findings_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> allocations_;
  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;
  std::size_t capacity_ = std::size_t{4} << 30;
  std::size_t used_ = 0;
};

}  // namespace plumb::stand_in
