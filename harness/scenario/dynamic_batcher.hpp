// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/scenario/batch_queue.hpp"
#include "harness/scenario/load_clock.hpp"
#include "harness/scenario/system_under_test.hpp"

namespace plumb {

/// Is what a batcher hands out: at most `bucket` samples, executed by the plan for `bucket`.
struct Batch {
  std::size_t lane = 0;    ///< 0 … lanes - 1; one batch at a time in each
  std::size_t bucket = 0;  ///< the smallest that holds the samples
  std::span<const QuerySample> samples;
};

/// Executes batches: one prepared plan per bucket (batch size).
class BatchExecutor {
 public:
  virtual ~BatchExecutor() = default;
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Returns the batch sizes that have a plan, ascending; the last is at least the maximum batch.
  [[nodiscard]] virtual std::vector<std::size_t> buckets() const = 0;
  /// Runs a batch and returns when it is done. Called from as many threads as there are lanes,
  /// never by two for one lane. `responses` has the samples' ids; in accuracy mode the executor
  /// sets the data, which stays valid until the lane's next batch. What it throws fails the batch's
  /// samples.
  virtual void execute(const Batch& batch, std::span<SampleResponse> responses) = 0;
};

/// Collects queries into batches: a batch starts when it is full, when its oldest sample has waited
/// for the timeout, or at a flush, and a lane is free. Each lane is a thread.
class DynamicBatcher final : public SystemUnderTest {
 public:
  /// Counts how a bucket was used since start().
  struct BucketUse {
    std::size_t bucket = 0;
    std::uint64_t batches = 0;
    std::uint64_t samples = 0;
  };

  /// Executor and clock outlive the batcher. Throws Error{kUser} for a policy without batch or
  /// lane, and where the buckets are not ascending or do not hold the maximum batch.
  DynamicBatcher(BatchExecutor& executor, const BatchPolicy& policy, const LoadClock& clock);
  /// Waits for the batches in execution; what still waits is not answered.
  ~DynamicBatcher() override;
  DynamicBatcher(const DynamicBatcher&) = delete;
  DynamicBatcher& operator=(const DynamicBatcher&) = delete;
  DynamicBatcher(DynamicBatcher&&) = delete;
  DynamicBatcher& operator=(DynamicBatcher&&) = delete;

  [[nodiscard]] std::string describe() const override;
  void start(std::shared_ptr<Completions> completions) override;
  void issue(std::span<const QuerySample> samples) override;
  void flush() override;

  [[nodiscard]] std::vector<BucketUse> uses() const;

 private:
  void work(std::size_t lane);
  void execute(std::size_t lane,
               const std::vector<QuerySample>& samples,
               std::size_t bucket,
               Completions& completions);

  BatchExecutor& executor_;
  const BatchPolicy policy_;
  const LoadClock& clock_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  BatchQueue queue_;
  std::shared_ptr<Completions> completions_;
  std::vector<BucketUse> uses_;  // one a bucket, ascending
  bool ended_ = false;
  std::vector<std::thread> lanes_;
};

}  // namespace plumb
