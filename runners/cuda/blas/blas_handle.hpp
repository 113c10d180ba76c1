// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/cuda/blas/blas_abi.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {

/// cuBLAS' older interface, loaded by name from the stack's folders.
class BlasLibrary {
 public:
  /// Loads the library. Throws Error{kEnvironment} that says how to get it.
  BlasLibrary();

  [[nodiscard]] const abi::BlasCalls& calls() const { return calls_; }
  /// Throws std::bad_alloc if memory is short, and CublasRefusal for any other failure.
  void check(int status, const char* what) const;

 private:
  DynamicLibrary library_;
  abi::BlasCalls calls_;
};

/// Owner of cuBLAS' handle of the current context. The library must outlive it.
class BlasHandle {
 public:
  /// Creates the handle. Throws CublasRefusal.
  explicit BlasHandle(const BlasLibrary& library);
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  BlasHandle(BlasHandle&&) = delete;
  BlasHandle& operator=(BlasHandle&&) = delete;

  /// Returns the handle, set to a stream and to a workspace of the caller's. cuBLAS would allocate
  /// its own, even while a graph is captured. Throws CublasRefusal.
  [[nodiscard]] abi::BlasHandle in(abi::Stream stream, void* workspace, std::size_t bytes) const;
  [[nodiscard]] const BlasLibrary& library() const { return library_; }

 private:
  const BlasLibrary& library_;
  abi::BlasHandle handle_ = nullptr;
};

}  // namespace plumb::cuda
