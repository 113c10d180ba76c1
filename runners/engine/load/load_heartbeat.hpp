// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/load_request.hpp"

namespace plumb::engine {

/// Reporter of a load's progress at each new phase, and about once a second. It reports from a
/// thread of its own, and never after its destruction.
class LoadHeartbeat {
 public:
  /// Starts the thread, which calls `report` and `batches`.
  LoadHeartbeat(worker::LoadReport report,
                std::function<std::uint64_t()> batches,
                measure::Clock clock);
  ~LoadHeartbeat();
  LoadHeartbeat(const LoadHeartbeat&) = delete;
  LoadHeartbeat& operator=(const LoadHeartbeat&) = delete;
  LoadHeartbeat(LoadHeartbeat&&) = delete;
  LoadHeartbeat& operator=(LoadHeartbeat&&) = delete;

  /// Sets the phase that is reported from now on.
  void enter(std::string phase);

 private:
  void beat();

  worker::LoadReport report_;
  std::function<std::uint64_t()> batches_;
  measure::Clock clock_;
  Seconds begin_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::string phase_ = "reading";
  bool fresh_ = true;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace plumb::engine
