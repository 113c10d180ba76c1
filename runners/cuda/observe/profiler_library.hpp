// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {

/// NVIDIA's profiling library (CUPTI), loaded by name.
class ProfilerLibrary {
 public:
  /// Loads the library. Throws Error{kEnvironment} that says where the library comes from.
  ProfilerLibrary();

  /// Finds an entry point by name. Throws Error{kEnvironment} if the library has none.
  template <typename Function>
  void find(Function& function, const char* name) const {
    library_.find(function, name);
  }

  /// Throws Error{kEnvironment} unless the status is success. The error says what was tried, the
  /// library's message, and what helps.
  void check(int status, const char* what) const;

  [[nodiscard]] std::string version() const;  ///< "CUPTI 130001 (libcupti.so.13)"

 private:
  DynamicLibrary library_;
  abi::ProfilerTextCalls calls_;
};

}  // namespace plumb::cuda
