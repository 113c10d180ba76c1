// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/loadgen/batch_executor.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

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
  void issue(std::span<const QuerySample> samples) override;
  void flush() override {}

  /// Returns the use of the buckets since start().
  [[nodiscard]] const std::vector<BucketUse>& uses() const { return uses_; }

 private:
  BatchExecutor& executor_;
  std::size_t maximum_batch_;
  std::vector<BucketUse> uses_;
  std::shared_ptr<Completions> completions_;
};

}  // namespace plumb::loadgen
