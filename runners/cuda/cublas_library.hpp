// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "runners/cuda/cublas_abi.hpp"
#include "runners/cuda/dynamic_library.hpp"
#include "runners/cuda/library_refusal.hpp"

namespace plumb::cuda {

/// Says that cuBLASLt refused a call.
class CublasRefusal : public LibraryRefusal {
 public:
  using LibraryRefusal::LibraryRefusal;
};

/// Is cuBLASLt, loaded by name from the stack's folders. Its descriptors need no device.
class CublasLibrary {
 public:
  /// Throws Error{kEnvironment} that says how to get it.
  CublasLibrary();

  [[nodiscard]] const abi::LtCalls& calls() const { return calls_; }
  /// Throws std::bad_alloc if memory is short, CublasRefusal for anything but success.
  void check(int status, const char* what) const;

 private:
  DynamicLibrary library_;
  abi::LtCalls calls_;
};

/// Owns one of cuBLASLt's descriptors. The library must outlive it.
class LtOwned {
 public:
  LtOwned(abi::LtDescriptor handle, int (*destroy)(abi::LtDescriptor))
      : handle_(handle), destroy_(destroy) {}
  ~LtOwned() {
    if (handle_ != nullptr) {
      static_cast<void>(destroy_(handle_));
    }
  }
  LtOwned(LtOwned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  LtOwned& operator=(LtOwned&&) = delete;
  LtOwned(const LtOwned&) = delete;
  LtOwned& operator=(const LtOwned&) = delete;
  [[nodiscard]] abi::LtDescriptor get() const { return handle_; }

 private:
  abi::LtDescriptor handle_;
  int (*destroy_)(abi::LtDescriptor);
};

}  // namespace plumb::cuda
