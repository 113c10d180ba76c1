// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace plumb::loadgen {

/// Receiver of answers. Any thread may call it, in any order, also from inside issue(). An unknown
/// or repeated answer is counted and makes the result invalid. An answer after the run's end is
/// ignored.
class Completions {
 public:
  /// Answer to one sample. The data are read in accuracy mode only, and only during the call.
  struct Response {
    std::uint64_t id = 0;
    std::span<const std::byte> data;
  };

  virtual ~Completions() = default;
  /// Takes the answers of samples that are done.
  virtual void complete(std::span<const Response> responses) = 0;
  /// Reports samples that cannot be answered. The first reason is kept, and the result is invalid.
  virtual void fail(std::span<const std::uint64_t> ids, std::string_view reason) = 0;
};

/// System that a load generator loads. It is all that the generator knows of models, batches and
/// devices.
class SystemUnderTest {
 public:
  /// One sample of a query: its index, and the id to answer with.
  struct Sample {
    std::uint64_t id = 0;     ///< opaque, never 0, valid until answered
    std::uint64_t index = 0;  ///< which sample of the data set
  };

  virtual ~SystemUnderTest() = default;
  /// Names the system in results and logs.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Begins a run or its warm-up. Answers go to `completions` until the next start(). The system
  /// keeps the pointer as long as it may answer, so that late answers have a valid receiver.
  virtual void start(std::shared_ptr<Completions> completions) = 0;
  /// Takes one query, always from the same thread. Time spent here delays the next query, so a
  /// system that works on several queries at a time returns at once. `samples` is valid only during
  /// the call. Any number of queries may be outstanding.
  virtual void issue(std::span<const Sample> samples) = 0;
  /// Announces that no query follows before the outstanding ones are answered. Batches need not
  /// fill up.
  virtual void flush() = 0;
};

/// Receiver of the responses of accuracy mode, in order of completion. It is never called from two
/// threads at a time.
class ResponseLog {
 public:
  virtual ~ResponseLog() = default;
  virtual void record(std::uint64_t sequence,
                      std::uint64_t index,
                      std::span<const std::byte> data) = 0;
};

/// Clock that a load runs by. It is injected, so that tests can script it, and outlives the system
/// under test.
class LoadClock {
 public:
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
      // Sequentially consistent, as in add(). Either this thread sees the new value, or the other
      // one sees that a thread waits.
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
