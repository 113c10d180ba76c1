// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "tests/support/cuda_driver/vector_time.hpp"

namespace plumb::stand_in {

/// Page-locked host memory. It is mapped twice. The program's mapping loses its rights while a copy
/// that the program has not waited for reads or writes it, so that an early use faults.
class HostMemory {
 public:
  /// Returns null if memory is short.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// Returns false if `address` is none of allocate().
  [[nodiscard]] bool release(void* address);

  /// Returns where works reach the bytes. Null: they do not all lie in one page-locked block.
  [[nodiscard]] std::byte* alias(const void* address, std::size_t bytes) const;
  /// Takes rights from the program until `until` happened before what it does.
  void guard(const void* address, Epoch until, bool device_writes);
  /// Gives the rights back to blocks whose copies the program has waited for.
  void settle(const VectorTime& host);

  [[nodiscard]] std::size_t live() const;
  /// Returns whether an address lies in a block that a copy still uses.
  [[nodiscard]] bool guarded(const void* address) const;

 private:
  struct Use {
    Epoch epoch;
    bool device_writes;
  };
  struct Block {
    std::size_t bytes = 0;
    std::size_t mapped = 0;
    std::byte* alias = nullptr;
    std::vector<Use> uses;
  };

  using Blocks = std::map<std::uint64_t, Block>;

  static void protect(std::uint64_t address, const Block& block);
  [[nodiscard]] Blocks::const_iterator find(const void* address) const;

  mutable std::mutex mutex_;
  Blocks blocks_;
};

}  // namespace plumb::stand_in
