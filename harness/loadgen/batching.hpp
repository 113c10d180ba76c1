// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Executor of batches, with one prepared plan for each bucket (batch size).
class BatchExecutor {
 public:
  /// Batch of at most `bucket` samples, which the plan for `bucket` executes.
  struct Batch {
    std::size_t lane = 0;    ///< 0 … lanes - 1; each has one batch at a time
    std::size_t bucket = 0;  ///< the smallest that holds the samples
    std::span<const SystemUnderTest::Sample> samples;
  };

  /// Use of one bucket since start().
  struct BucketUse {
    std::size_t bucket = 0;
    std::uint64_t batches = 0;
    std::uint64_t samples = 0;
  };

  virtual ~BatchExecutor() = default;
  /// Names the executor in results and logs.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Returns the batch sizes that have a plan, ascending. The last is at least the maximum batch.
  [[nodiscard]] virtual std::vector<std::size_t> buckets() const = 0;
  /// Enters a lane. The thread of each lane calls it before its first batch.
  virtual void enter_lane(std::size_t lane) { static_cast<void>(lane); }
  /// Runs a batch and returns when it is done. Lanes call it in parallel, each from one thread at a
  /// time. `responses` has the samples' ids. In accuracy mode the executor sets the data, which
  /// stay valid until the lane's next batch. An exception fails the batch's samples.
  virtual void execute(const Batch& batch, std::span<Completions::Response> responses) = 0;
};

/// Checks that the executor's buckets hold batches of `maximum_batch` samples, and returns them
/// unused. Throws Error{kUser} if they are not ascending, too small, or none.
[[nodiscard]] std::vector<BatchExecutor::BucketUse> unused_buckets(const BatchExecutor& executor,
                                                                   std::size_t maximum_batch);

/// Returns the smallest bucket that holds `samples` samples, and counts its use.
[[nodiscard]] std::size_t use_bucket(std::vector<BatchExecutor::BucketUse>& uses,
                                     std::size_t samples);

/// Executes a batch and answers its samples. If the executor throws, all samples fail with that
/// text.
void answer_batch(BatchExecutor& executor,
                  const BatchExecutor::Batch& batch,
                  Completions& completions);

/// System that executes each query in the thread that issues it. issue() returns when its samples
/// are answered. It has no queue and no other thread. It fits single_stream and multi_stream, where
/// nothing is issued meanwhile. A query of more samples than the maximum batch is executed batch
/// after batch.
class DirectSystem final : public SystemUnderTest {
 public:
  /// Checks the buckets. The executor must outlive the system. Throws Error{kUser} for a maximum
  /// batch of 0, and if the buckets are not ascending or do not hold it.
  DirectSystem(BatchExecutor& executor, std::size_t maximum_batch);

  [[nodiscard]] std::string describe() const override;
  void start(std::shared_ptr<Completions> completions) override;
  void issue(std::span<const SystemUnderTest::Sample> samples) override;
  void flush() override {}

  /// Returns the use of the buckets since start().
  [[nodiscard]] const std::vector<BatchExecutor::BucketUse>& uses() const { return uses_; }

 private:
  BatchExecutor& executor_;
  std::size_t maximum_batch_;
  std::vector<BatchExecutor::BucketUse> uses_;
  std::shared_ptr<Completions> completions_;
};

/// System that collects queries into batches and executes them in lanes. A batch needs a free lane,
/// which is a thread. It starts when it is full, when its oldest sample has waited for the timeout,
/// or at a flush.
class DynamicBatcher final : public SystemUnderTest {
 public:
  /// Conditions under which waiting samples make a batch.
  struct Policy {
    std::size_t maximum_batch = 8;
    std::chrono::nanoseconds
        timeout{};          ///< longest wait of a sample for others; 0: it does not wait
    std::size_t lanes = 1;  ///< batches executed at a time
  };

  /// Queue of samples that wait for a batch, in order of arrival. It reads no clock: callers pass
  /// the time. Not thread-safe.
  class Queue {
   public:
    explicit Queue(const Policy& policy) : policy_(policy) {}

    void push(std::span<const SystemUnderTest::Sample> samples, std::chrono::nanoseconds now) {
      for (const SystemUnderTest::Sample& sample : samples) {
        waiting_.push_back({sample, now});
      }
    }
    /// Makes all samples that wait now due.
    void flush() { due_ = waiting_.size(); }
    void clear() {
      waiting_.clear();
      due_ = 0;
    }

    [[nodiscard]] bool empty() const { return waiting_.empty(); }
    /// Returns whether a batch is full, flushed, or has waited long enough.
    [[nodiscard]] bool is_ready(std::chrono::nanoseconds now) const {
      return !waiting_.empty() &&
             (due_ > 0 || waiting_.size() >= policy_.maximum_batch || now >= *deadline());
    }
    /// Returns when the oldest sample has waited long enough. Absent if none waits.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> deadline() const {
      return waiting_.empty() ? std::nullopt
                              : std::optional(waiting_.front().since + policy_.timeout);
    }
    /// Removes and returns the oldest samples, at most a full batch.
    [[nodiscard]] std::vector<SystemUnderTest::Sample> pop() {
      const std::size_t size =
          waiting_.size() < policy_.maximum_batch ? waiting_.size() : policy_.maximum_batch;
      std::vector<SystemUnderTest::Sample> batch;
      batch.reserve(size);
      for (std::size_t i = 0; i < size; ++i) {
        batch.push_back(waiting_.front().sample);
        waiting_.pop_front();
      }
      due_ -= size < due_ ? size : due_;
      return batch;
    }

   private:
    struct Waiting {
      SystemUnderTest::Sample sample;
      std::chrono::nanoseconds since{};
    };

    Policy policy_;
    std::deque<Waiting> waiting_;
    std::size_t due_ = 0;  // flushed samples, at the front
  };

  /// Starts the lanes. Executor and clock must outlive the batcher. Throws Error{kUser} for a
  /// policy without batch or lane, for more than 1,024 lanes, and if the buckets are not ascending
  /// or do not hold the maximum batch.
  DynamicBatcher(BatchExecutor& executor, const Policy& policy, const LoadClock& clock);
  /// Waits for the batches in execution. Samples that still wait are not answered.
  ~DynamicBatcher() override;
  DynamicBatcher(const DynamicBatcher&) = delete;
  DynamicBatcher& operator=(const DynamicBatcher&) = delete;
  DynamicBatcher(DynamicBatcher&&) = delete;
  DynamicBatcher& operator=(DynamicBatcher&&) = delete;

  [[nodiscard]] std::string describe() const override;
  void start(std::shared_ptr<Completions> completions) override;
  void issue(std::span<const SystemUnderTest::Sample> samples) override;
  void flush() override;

  /// Returns the use of the buckets since start().
  [[nodiscard]] std::vector<BatchExecutor::BucketUse> uses() const;

 private:
  void work(std::size_t lane);

  BatchExecutor& executor_;
  const Policy policy_;
  const LoadClock& clock_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  Queue queue_;
  std::shared_ptr<Completions> completions_;
  std::vector<BatchExecutor::BucketUse> uses_;  // one a bucket, ascending
  bool ended_ = false;
  std::vector<std::thread> lanes_;
};

}  // namespace plumb::loadgen
