// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/scenario/batch_executor.hpp"
#include "harness/scenario/system_under_test.hpp"

namespace plumb {

/// Executes each query in the thread that issues it: issue() returns when its samples are answered.
/// No queue, no other thread: for single and multi_stream, where nothing is issued meanwhile. Of a
/// query of more samples than the maximum batch, one batch follows the other.
class DirectSystem final : public SystemUnderTest {
 public:
  /// The executor outlives the system. Throws Error{kUser} for a maximum batch of 0, and where the
  /// buckets are not ascending or do not hold it.
  DirectSystem(BatchExecutor& executor, std::size_t maximum_batch);

  [[nodiscard]] std::string describe() const override;
  void start(std::shared_ptr<Completions> completions) override;
  void issue(std::span<const QuerySample> samples) override;
  void flush() override {}

  /// Returns how buckets were used since start().
  [[nodiscard]] const std::vector<BucketUse>& uses() const { return uses_; }

 private:
  BatchExecutor& executor_;
  std::size_t maximum_batch_;
  std::vector<BucketUse> uses_;
  std::shared_ptr<Completions> completions_;
};

}  // namespace plumb
