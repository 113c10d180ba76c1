// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace plumb::cuda {

/// Shared library, loaded by name and kept until the process ends.
class DynamicLibrary {
 public:
  /// Loads the first of the names that the loader finds. Throws Error{kEnvironment} with the
  /// loader's message for the last of them, then `what_to_do`.
  DynamicLibrary(std::span<const std::string> names, const std::string& what_to_do);

  /// Finds an entry point by name. Throws Error{kEnvironment} if the library has none.
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  /// Finds an entry point that the library may lack. Null: it does.
  template <typename Function>
  void find_if_there(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol_or_null(name));
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] void* symbol_or_null(const char* name) const;
  [[nodiscard]] void* symbol(const char* name) const;

  std::string name_;
  std::string what_to_do_;
  void* handle_ = nullptr;
};

/// Refusal by the driver or one of NVIDIA's libraries, with the reason. As a rule the reason is the
/// library's own message.
class LibraryRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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
