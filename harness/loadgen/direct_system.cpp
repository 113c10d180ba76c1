// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/direct_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::loadgen {

DirectSystem::DirectSystem(BatchExecutor& executor, std::size_t maximum_batch)
    : executor_(executor),
      maximum_batch_(maximum_batch),
      uses_(unused_buckets(executor, maximum_batch)) {
  if (maximum_batch == 0) {
    throw Error(Error::Kind::kUser, "a batch of 0 samples executes nothing: give at least one");
  }
}

std::string DirectSystem::describe() const {
  return fmt::format(
      "{}, batches of up to {} in the issuing thread", executor_.describe(), maximum_batch_);
}

void DirectSystem::start(std::shared_ptr<Completions> completions) {
  completions_ = std::move(completions);
  for (BucketUse& use : uses_) {
    use = {use.bucket, 0, 0};
  }
}

void DirectSystem::issue(std::span<const QuerySample> samples) {
  while (!samples.empty()) {
    const auto batch = samples.first(std::min(samples.size(), maximum_batch_));
    samples = samples.subspan(batch.size());
    answer_batch(executor_, {0, use_bucket(uses_, batch.size()), batch}, *completions_);
  }
}

}  // namespace plumb::loadgen
