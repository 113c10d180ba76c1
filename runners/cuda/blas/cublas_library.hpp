// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/driver/library_refusal.hpp"

namespace plumb::cuda {

/// Refusal of a call by cuBLASLt or cuBLAS.
class CublasRefusal : public LibraryRefusal {
 public:
  using LibraryRefusal::LibraryRefusal;
};

/// cuBLASLt, loaded by name from the stack's folders. Its descriptors need no device.
class CublasLibrary {
 public:
  /// Loads the library. Throws Error{kEnvironment} that says how to get it.
  CublasLibrary();

  [[nodiscard]] const abi::LtCalls& calls() const { return calls_; }
  /// Throws std::bad_alloc if memory is short, and CublasRefusal for any other failure.
  void check(int status, const char* what) const;

 private:
  DynamicLibrary library_;
  abi::LtCalls calls_;
};

}  // namespace plumb::cuda
