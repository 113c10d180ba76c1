// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace plumb::stand_in {

/// Memory that a library's call reads or writes.
struct Range {
  const void* address = nullptr;
  std::size_t bytes = 0;
  bool write = false;
};

/// Objects of the driver that live now.
struct Living {
  std::size_t memory = 0;
  std::size_t host_memory = 0;
  std::size_t streams = 0;  ///< without the legacy stream
  std::size_t events = 0;
  std::size_t graphs = 0;
  std::size_t executables = 0;
  std::size_t modules = 0;
  int contexts = 0;  ///< references to the primary context

  friend bool operator==(const Living&, const Living&) = default;
  friend void PrintTo(const Living& living, std::ostream* out) {
    *out << "memory " << living.memory << ", host memory " << living.host_memory << ", streams "
         << living.streams << ", events " << living.events << ", graphs " << living.graphs
         << ", executables " << living.executables << ", modules " << living.modules
         << ", contexts " << living.contexts;
  }
};

/// Kinds of work that the scripted clock gives a duration. kEagerLaunch is what a kernel takes more
/// outside of a graph.
enum class Duration { kKernel, kCopy, kSet, kEvent, kGraphLaunch, kEagerLaunch };

/// Functions beside those of the driver, for tests and for the stand-ins of the libraries. All are
/// of the process' one stand-in.
struct Control {
  /// Begins anew: forgets findings, faults, counts of calls and a lost context. Objects live on,
  /// and one device is shown.
  void (*reset)(unsigned seed);
  /// Makes the `at`-th call of an entry point from now return `status`, of the driver or of the
  /// library whose it is. "kernel" counts kernels
  /// that are executed: such an error shows at a later call.
  void (*fail)(const char* call, unsigned at, int status);
  /// Counts a call of a library's entry point. Returns the status that fail() gave it, else 0.
  int (*library_call)(const char* call);
  /// Returns how often an entry point was called.
  unsigned (*calls)(const char* call);
  void (*set_duration)(Duration kind, std::uint64_t nanoseconds);
  /// Sets the longest pause before a work, in microseconds. 0: none.
  void (*set_delay)(unsigned longest);
  void (*set_memory)(std::size_t bytes);
  /// Returns what was found, as "rule: text", one a line.
  std::string (*findings)();
  Living (*living)();
  /// Sets how many devices the driver shows. They are equal, but for bus and identifier.
  void (*set_devices)(int count);
  /// Returns the number of the device whose primary context is retained; -1: none.
  int (*device)();
  /// Puts a library's work into a stream, which captures it as it does a kernel. `run` may use the
  /// memory of `ranges` alone. Returns a status of the driver.
  int (*enqueue)(void* stream,
                 const char* name,
                 std::vector<Range> ranges,
                 std::function<void()> run);
};

/// Returns the control of the stand-in that is loaded. Throws if the process has none.
[[nodiscard]] inline const Control& control() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  void* const found = library != nullptr ? dlsym(library, "plumb_stand_in_control") : nullptr;
  if (found == nullptr) {
    throw std::runtime_error("libcuda.so.1 is not the test double: set the path of libraries");
  }
  return *static_cast<const Control*>(found);
}

}  // namespace plumb::stand_in
