// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace plumb::loadgen {

/// Count of completed samples, failed ones included. Any thread adds to it, and one thread waits
/// for it.
class CompletionCount {
 public:
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

  void add(std::uint64_t queries) {
    value_.fetch_add(queries);
    if (waiting_.load()) {
      const std::scoped_lock lock(mutex_);
      changed_.notify_one();
    }
  }

  /// Sleeps until the value is at least `target`, or `limit` has passed.
  void sleep_until_at_least(std::uint64_t target, std::chrono::nanoseconds limit) {
    std::unique_lock lock(mutex_);
    // Sequentially consistent, as in add(). Either this thread sees the new value, or the other one
    // sees that a thread waits.
    waiting_.store(true);
    changed_.wait_for(lock, limit, [&] { return value_.load() >= target; });
    waiting_.store(false);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
  std::atomic<bool> waiting_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace plumb::loadgen
