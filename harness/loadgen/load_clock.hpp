// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
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

/// Clock that a load runs by. It is injected, so that tests can script it, and outlives the system
/// under test.
class LoadClock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  virtual ~LoadClock() = default;
  /// Returns the time since an arbitrary moment, which never goes back. Any thread may call it.
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  /// Waits for `deadline` and returns the time. Returns at once if it is past.
  virtual Nanoseconds wait_until(Nanoseconds deadline) = 0;
  /// Waits until `count` is at least `target`, or `deadline` has come. Returns whether the count is
  /// reached.
  virtual bool wait_for(CompletionCount& count, std::uint64_t target, Nanoseconds deadline) = 0;
};

/// Makes a clock that reads the steady clock. It sleeps, and spins for the last 200 µs before a
/// deadline, because sleeps end some 75 µs late. For a completion it spins 20 µs before it sleeps.
/// The deadlines are absolute, so that waits do not add up to a drift.
[[nodiscard]] std::unique_ptr<LoadClock> make_steady_load_clock();

}  // namespace plumb::loadgen
