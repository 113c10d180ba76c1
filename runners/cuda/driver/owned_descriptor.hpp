// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace plumb::cuda {

/// Owner of a descriptor that one of NVIDIA's libraries made. It destroys the descriptor by the
/// library's call. The library must outlive it.
class OwnedDescriptor {
 public:
  OwnedDescriptor(void* handle, int (*destroy)(void*)) : handle_(handle), destroy_(destroy) {}
  ~OwnedDescriptor() {
    if (handle_ != nullptr) {
      static_cast<void>(destroy_(handle_));
    }
  }
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  [[nodiscard]] void* get() const { return handle_; }

 private:
  void* handle_;
  int (*destroy_)(void*);
};

}  // namespace plumb::cuda
