// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace plumb::stand_in {

void* HostMemory::allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  const int file = memfd_create("page-locked", MFD_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  void* program = MAP_FAILED;
  void* device = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(mapped)) == 0) {
    program = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    device = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (program == MAP_FAILED || device == MAP_FAILED) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  blocks_[std::bit_cast<std::uint64_t>(program)] = {
      bytes, mapped, static_cast<std::byte*>(device), {}};
  return program;
}

bool HostMemory::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(std::bit_cast<std::uint64_t>(address));
  if (at == blocks_.end()) {
    return false;
  }
  munmap(address, at->second.mapped);
  munmap(at->second.alias, at->second.mapped);
  blocks_.erase(at);
  return true;
}

HostMemory::Blocks::const_iterator HostMemory::find(const void* address) const {
  const auto wanted = std::bit_cast<std::uint64_t>(address);
  const auto behind = blocks_.upper_bound(wanted);
  if (behind == blocks_.begin()) {
    return blocks_.end();
  }
  const auto at = std::prev(behind);
  return wanted < at->first + at->second.mapped ? at : blocks_.end();
}

std::byte* HostMemory::alias(const void* address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = find(address);
  if (at == blocks_.end()) {
    return nullptr;
  }
  const std::uint64_t offset = std::bit_cast<std::uint64_t>(address) - at->first;
  return offset + bytes <= at->second.bytes ? at->second.alias + offset : nullptr;
}

void HostMemory::protect(std::uint64_t address, const Block& block) {
  int rights = PROT_READ | PROT_WRITE;
  for (const Use& use : block.uses) {
    rights = use.device_writes ? PROT_NONE : std::min(rights, PROT_READ);
    if (rights == PROT_NONE) {
      break;
    }
  }
  static_cast<void>(mprotect(std::bit_cast<void*>(address), block.mapped, rights));
}

void HostMemory::guard(const void* address, Epoch until, bool device_writes) {
  const std::lock_guard lock(mutex_);
  const auto at = find(address);
  if (at != blocks_.end()) {
    Block& block = blocks_.at(at->first);
    block.uses.push_back({until, device_writes});
    protect(at->first, block);
  }
}

void HostMemory::settle(const VectorTime& host) {
  const std::lock_guard lock(mutex_);
  for (auto& [address, block] : blocks_) {
    if (std::erase_if(block.uses, [&](const Use& use) { return host.covers(use.epoch); }) > 0) {
      protect(address, block);
    }
  }
}

std::size_t HostMemory::live() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

bool HostMemory::guarded(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto at = find(address);
  return at != blocks_.end() && !at->second.uses.empty();
}

}  // namespace plumb::stand_in
