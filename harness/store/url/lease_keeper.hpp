// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "harness/results/run.hpp"

namespace plumb::store {

/// Thread that renews the lease of a process that joined a shared run, until it is destroyed. It
/// has a connection of its own, and tries again where the server is away.
class LeaseKeeper {
 public:
  /// `lease` is that of the process: it is renewed three times within it.
  LeaseKeeper(std::string url,
              results::RunId run,
              std::int64_t member,
              std::chrono::milliseconds lease);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  LeaseKeeper(LeaseKeeper&&) = delete;
  LeaseKeeper& operator=(LeaseKeeper&&) = delete;

 private:
  void keep();

  std::string url_;
  results::RunId run_;
  std::int64_t member_;
  std::chrono::milliseconds lease_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;  ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace plumb::store
