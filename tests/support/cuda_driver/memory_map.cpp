// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/memory_map.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace plumb::stand_in {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kRange = std::size_t{1} << 42;  // of addresses; none is used twice
constexpr int kNoZeros = 0x7b;                        // as bytes of floats: large and odd

std::size_t pages_of(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

bool unordered(const AccessRecord& earlier, const AccessRecord& now, const VectorTime& time) {
  return !time.covers(earlier.epoch) &&
         (overlap(earlier.writes, now.reads) || overlap(earlier.writes, now.writes) ||
          overlap(earlier.reads, now.writes));
}

}  // namespace

MemoryMap::MemoryMap(Findings& findings) : findings_(findings) {
  void* const range =
      mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) {
    begin_ = next_ = std::bit_cast<std::uint64_t>(range);
  }
}

std::uint64_t MemoryMap::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = pages_of(bytes);
  if (begin_ == 0 || used_ + size > capacity_ || next_ + size + kPage > begin_ + kRange) {
    return 0;
  }
  void* const memory = std::bit_cast<void*>(next_);
  if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) {
    return 0;
  }
  std::memset(memory, kNoZeros, bytes);
  const auto allocation = std::make_shared<Allocation>();
  allocation->address = next_;
  allocation->bytes = bytes;
  allocations_.emplace(next_, allocation);
  next_ += size + kPage;  // a page between two allocations stays without rights
  used_ += size;
  return allocation->address;
}

bool MemoryMap::release(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = allocations_.find(address);
  if (at == allocations_.end() || !at->second->live) {
    return false;
  }
  Allocation& allocation = *at->second;
  allocation.live = false;
  allocation.records.clear();
  used_ -= pages_of(allocation.bytes);
  // The addresses stay taken, and any access to them faults.
  static_cast<void>(mmap(std::bit_cast<void*>(address),
                         pages_of(allocation.bytes),
                         PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                         -1,
                         0));
  return true;
}

std::shared_ptr<Allocation> MemoryMap::find(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  if (!is_device(address)) {
    return nullptr;
  }
  const auto behind = allocations_.upper_bound(address);
  return behind == allocations_.begin() ? nullptr : std::prev(behind)->second;
}

bool MemoryMap::is_device(std::uint64_t address) const {
  return begin_ != 0 && address >= begin_ && address < begin_ + kRange;
}

bool MemoryMap::valid(std::uint64_t address, std::size_t bytes) const {
  const std::shared_ptr<Allocation> allocation = find(address);
  return allocation != nullptr && allocation->live &&
         address + bytes <= allocation->address + allocation->bytes;
}

void MemoryMap::commit(const AccessLog& log,
                       const std::string& name,
                       Epoch epoch,
                       const VectorTime& time) {
  for (const auto& [address, touched] : log.touched) {
    AccessRecord now{epoch, name, touched.reads.ranges(), touched.writes.ranges()};
    const std::lock_guard lock(mutex_);
    auto& records = touched.allocation->records;
    for (const AccessRecord& earlier : records) {
      if (unordered(earlier, now, time)) {
        findings_.add("race",
                      "'" + name + "' and '" + earlier.name +
                          "' use the same memory, at least one writes it, and nothing orders them");
      }
    }
    std::erase_if(records, [&](const AccessRecord& earlier) {
      return earlier.epoch.lane == epoch.lane && time.covers(earlier.epoch) &&
             earlier.reads == now.reads && earlier.writes == now.writes;
    });
    records.push_back(std::move(now));
  }
}

void MemoryMap::forget(const VectorTime& before) {
  const std::lock_guard lock(mutex_);
  for (auto& [address, allocation] : allocations_) {
    std::erase_if(allocation->records,
                  [&](const AccessRecord& record) { return before.covers(record.epoch); });
  }
}

std::size_t MemoryMap::live() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      allocations_.begin(), allocations_.end(), [](const auto& one) { return one.second->live; }));
}

}  // namespace plumb::stand_in
