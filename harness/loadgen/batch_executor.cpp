// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/batch_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "harness/base/error.hpp"

namespace plumb::loadgen {

std::vector<BucketUse> unused_buckets(const BatchExecutor& executor, std::size_t maximum_batch) {
  const std::vector<std::size_t> buckets = executor.buckets();
  const bool ascending =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (buckets.empty() || !ascending || buckets.back() < maximum_batch) {
    throw Error(Error::Kind::kUser,
                fmt::format("buckets {} do not hold batches of {}: give ascending batch sizes, the "
                            "last one at least that large",
                            fmt::join(buckets, ", "),
                            maximum_batch));
  }
  std::vector<BucketUse> uses;
  uses.reserve(buckets.size());
  for (const std::size_t bucket : buckets) {
    uses.push_back({bucket, 0, 0});
  }
  return uses;
}

std::size_t use_bucket(std::vector<BucketUse>& uses, std::size_t samples) {
  const auto use = std::find_if(
      uses.begin(), uses.end(), [&](const BucketUse& each) { return each.bucket >= samples; });
  PLUMB_CHECK(use != uses.end());
  ++use->batches;
  use->samples += samples;
  return use->bucket;
}

void answer_batch(BatchExecutor& executor, const Batch& batch, Completions& completions) {
  std::vector<SampleResponse> responses;
  responses.reserve(batch.samples.size());
  for (const QuerySample& sample : batch.samples) {
    responses.push_back({sample.id, {}});
  }
  // An exception that leaves a lane's thread would end the process.
  try {
    executor.execute(batch, responses);
  } catch (const std::exception& error) {
    std::vector<std::uint64_t> ids;
    ids.reserve(batch.samples.size());
    for (const QuerySample& sample : batch.samples) {
      ids.push_back(sample.id);
    }
    completions.fail(ids, error.what());
    return;
  }
  completions.complete(responses);
}

}  // namespace plumb::loadgen
