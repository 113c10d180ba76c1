// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/results/run.hpp"

namespace plumb {

/// Mark of a live process on the run that it works on. The kernel releases it when the process
/// dies, however it dies. So a run that says "running" and can be locked was killed.
class RunLock {
 public:
  /// Returns a lock, or nothing if another process holds it. Throws Error{kEnvironment} if the
  /// folder is not writable.
  [[nodiscard]] static std::optional<RunLock> try_acquire(const std::filesystem::path& folder,
                                                          const RunId& run);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  RunLock(int descriptor, std::filesystem::path path);
  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace plumb
