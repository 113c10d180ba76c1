// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/loadgen/batch_executor.hpp"
#include "harness/loadgen/batch_queue.hpp"
#include "harness/loadgen/load_clock.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// System that collects queries into batches and executes them in lanes. A batch needs a free lane,
/// which is a thread. It starts when it is full, when its oldest sample has waited for the timeout,
/// or at a flush.
class DynamicBatcher final : public SystemUnderTest {
 public:
  /// Starts the lanes. Executor and clock must outlive the batcher. Throws Error{kUser} for a
  /// policy without batch or lane, for more than 1,024 lanes, and if the buckets are not ascending
  /// or do not hold the maximum batch.
  DynamicBatcher(BatchExecutor& executor, const BatchPolicy& policy, const LoadClock& clock);
  /// Waits for the batches in execution. Samples that still wait are not answered.
  ~DynamicBatcher() override;
  DynamicBatcher(const DynamicBatcher&) = delete;
  DynamicBatcher& operator=(const DynamicBatcher&) = delete;
  DynamicBatcher(DynamicBatcher&&) = delete;
  DynamicBatcher& operator=(DynamicBatcher&&) = delete;

  [[nodiscard]] std::string describe() const override;
  void start(std::shared_ptr<Completions> completions) override;
  void issue(std::span<const QuerySample> samples) override;
  void flush() override;

  /// Returns the use of the buckets since start().
  [[nodiscard]] std::vector<BucketUse> uses() const;

 private:
  void work(std::size_t lane);

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

}  // namespace plumb::loadgen
