// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace plumb::stand_in {

/// Memory that a library takes for itself through the driver, as its handle does. A capture refuses
/// it, and a handle that is not destroyed shows as a leak.
class LibraryMemory {
 public:
  [[nodiscard]] int take(std::size_t bytes) {
    const auto call = reinterpret_cast<int (*)(std::uint64_t*, std::size_t)>(
        dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    return call == nullptr ? kNoDriver : call(&address_, bytes);
  }
  [[nodiscard]] int give_back() {
    const auto call = reinterpret_cast<int (*)(std::uint64_t)>(dlsym(RTLD_DEFAULT, "cuMemFree_v2"));
    const std::uint64_t address = address_;
    address_ = 0;
    return call == nullptr || address == 0 ? 0 : call(address);
  }
  [[nodiscard]] bool taken() const { return address_ != 0; }

 private:
  static constexpr int kNoDriver = 3;
  std::uint64_t address_ = 0;
};

}  // namespace plumb::stand_in
