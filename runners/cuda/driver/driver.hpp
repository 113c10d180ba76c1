// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/driver/graph_abi.hpp"
#include "runners/cuda/driver/library_refusal.hpp"

namespace plumb::cuda {

/// Refusal of a call by the driver, with its status and its message.
class DriverRefusal : public LibraryRefusal {
 public:
  DriverRefusal(int status, const std::string& text) : LibraryRefusal(text), status_(status) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

/// NVIDIA driver of this machine, loaded by name and initialised.
class Driver {
 public:
  /// Loads and initialises the driver. Throws Error{kEnvironment}, beginning with "no NVIDIA
  /// driver" or "no GPU", that says what is missing and what to do.
  Driver();

  /// Throws unless `status` is a success: std::bad_alloc if memory is short, else DriverRefusal.
  /// `what` names the call. While the process has a context, a status that loses it
  /// (loses_context()) ends the process: every later call would fail, in the name of another layer.
  void check(int status, const char* what) const;
  /// Counts the contexts that the process has.
  void add_contexts(int number) const { contexts_ += number; }

  [[nodiscard]] const abi::DriverCalls& calls() const { return calls_; }
  /// Returns the calls that read and update captured graphs. Those that a driver before CUDA 12.3
  /// lacks are null.
  [[nodiscard]] const abi::GraphCalls& graph_calls() const { return graph_calls_; }
  [[nodiscard]] std::string version() const;  ///< of CUDA, as the driver says: "13.0"
  [[nodiscard]] std::string path() const;     ///< of the library that is really mapped

 private:
  DynamicLibrary library_;
  abi::DriverCalls calls_;
  abi::GraphCalls graph_calls_;
  mutable std::atomic<int> contexts_{0};
};

}  // namespace plumb::cuda
