// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/load/load_heartbeat.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace plumb::engine {

LoadHeartbeat::LoadHeartbeat(worker::LoadReport report,
                             std::function<std::uint64_t()> batches,
                             measure::Clock clock)
    : report_(std::move(report)),
      batches_(std::move(batches)),
      clock_(std::move(clock)),
      begin_(clock_()),
      thread_([this] { beat(); }) {}

LoadHeartbeat::~LoadHeartbeat() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LoadHeartbeat::enter(std::string phase) {
  {
    const std::scoped_lock lock(mutex_);
    phase_ = std::move(phase);
    fresh_ = true;
  }
  changed_.notify_all();
}

void LoadHeartbeat::beat() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const worker::LoadProgress progress{phase_, batches_(), clock_() - begin_};
    fresh_ = false;
    lock.unlock();
    try {
      report_(progress);
    } catch (const std::exception&) {
      return;  // no receiver is left; the final answer will fail
    }
    lock.lock();
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_ || fresh_; });
  }
}

}  // namespace plumb::engine
