// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace plumb::cuda {

/// Owner of a descriptor or a handle that one of NVIDIA's libraries made. It destroys that by the
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
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  [[nodiscard]] void* get() const { return handle_; }

 private:
  void* handle_;
  int (*destroy_)(void*);
};

/// Makes a descriptor or a handle by a library's call. `what` names it where the library refuses,
/// and its check() then throws.
template <typename Library>
[[nodiscard]] OwnedDescriptor make_owned(const Library& library,
                                         int (*create)(void**),
                                         int (*destroy)(void*),
                                         const char* what) {
  void* handle = nullptr;
  library.check(create(&handle), what);
  return {handle, destroy};
}

}  // namespace plumb::cuda
