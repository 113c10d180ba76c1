// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "runners/cuda/blas/blas_abi.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {

/// Refusal of a call by cuBLASLt or cuBLAS.
class CublasRefusal : public LibraryRefusal {
 public:
  using LibraryRefusal::LibraryRefusal;
};

/// cuBLASLt and cuBLAS' older interface, loaded by name from the stack's folders. Descriptors of
/// cuBLASLt need no device.
class CublasLibrary {
 public:
  /// Loads the libraries. Throws Error{kEnvironment} that says how to get cuBLASLt.
  CublasLibrary();

  [[nodiscard]] const abi::LtCalls& calls() const { return calls_; }
  /// Returns cuBLAS' older calls. Null: the stack has no libcublas.
  [[nodiscard]] const abi::BlasCalls* older_calls() const {
    return older_calls_ ? &*older_calls_ : nullptr;
  }
  /// Throws std::bad_alloc if memory is short, and CublasRefusal for any other failure.
  void check(int status, const char* what) const;

 private:
  abi::LtCalls calls_;
  std::optional<abi::BlasCalls> older_calls_;
};

/// Owner of the current context's handles: cuBLASLt's, and that of the older calls where cuBLAS
/// gives one. The library must outlive it.
class CublasHandle {
 public:
  /// Creates the handles. Throws CublasRefusal if cuBLASLt's is refused.
  explicit CublasHandle(const CublasLibrary& library);

  [[nodiscard]] abi::LtHandle get() const { return handle_.get(); }
  [[nodiscard]] const CublasLibrary& library() const { return library_; }

  [[nodiscard]] bool has_older_calls() const { return older_.has_value(); }
  /// Returns the handle of the older calls, set to a stream and to a workspace of the caller's.
  /// cuBLAS would allocate its own, even while a graph is captured. Throws CublasRefusal.
  [[nodiscard]] abi::BlasHandle in(abi::Stream stream, void* workspace, std::size_t bytes) const;

 private:
  const CublasLibrary& library_;
  OwnedDescriptor handle_;
  std::optional<OwnedDescriptor> older_;
};

}  // namespace plumb::cuda
