// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Batch of at most `bucket` samples, which the plan for `bucket` executes.
struct Batch {
  std::size_t lane = 0;    ///< 0 … lanes - 1; each has one batch at a time
  std::size_t bucket = 0;  ///< the smallest that holds the samples
  std::span<const QuerySample> samples;
};

/// Executor of batches, with one prepared plan for each bucket (batch size).
class BatchExecutor {
 public:
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
  virtual void execute(const Batch& batch, std::span<SampleResponse> responses) = 0;
};

/// Use of one bucket since start().
struct BucketUse {
  std::size_t bucket = 0;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
};

/// Checks that the executor's buckets hold batches of `maximum_batch` samples, and returns them
/// unused. Throws Error{kUser} if they are not ascending, too small, or none.
[[nodiscard]] std::vector<BucketUse> unused_buckets(const BatchExecutor& executor,
                                                    std::size_t maximum_batch);

/// Returns the smallest bucket that holds `samples` samples, and counts its use.
[[nodiscard]] std::size_t use_bucket(std::vector<BucketUse>& uses, std::size_t samples);

/// Executes a batch and answers its samples. If the executor throws, all samples fail with that
/// text.
void answer_batch(BatchExecutor& executor, const Batch& batch, Completions& completions);

}  // namespace plumb::loadgen
