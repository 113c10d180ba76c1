// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/system_under_test.hpp"

namespace plumb {

/// Batch that a batcher hands out: at most `bucket` samples, executed by the plan for `bucket`.
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
  /// Enters a lane. Each lane's thread calls it before its first batch.
  virtual void enter_lane(std::size_t lane) { static_cast<void>(lane); }
  /// Runs a batch and returns when it is done. Called from as many threads as there are lanes,
  /// never by two for one lane. `responses` has the samples' ids; in accuracy mode the executor
  /// sets the data, which stays valid until the lane's next batch. What it throws fails the batch's
  /// samples.
  virtual void execute(const Batch& batch, std::span<SampleResponse> responses) = 0;
};

/// Counts how a bucket was used since start().
struct BucketUse {
  std::size_t bucket = 0;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
};

/// Checks that the executor's buckets hold batches of `maximum_batch` samples, and returns them
/// unused. Throws Error{kUser} where they are not ascending, too small, or none.
[[nodiscard]] std::vector<BucketUse> unused_buckets(const BatchExecutor& executor,
                                                    std::size_t maximum_batch);

/// Returns the smallest bucket that holds so many samples, and counts them.
[[nodiscard]] std::size_t use_bucket(std::vector<BucketUse>& uses, std::size_t samples);

/// Executes a batch and answers its samples: all fail with the text of what the executor throws.
void answer_batch(BatchExecutor& executor, const Batch& batch, Completions& completions);

}  // namespace plumb
