// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/batching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::loadgen {

std::vector<BatchExecutor::BucketUse> unused_buckets(const BatchExecutor& executor,
                                                     std::size_t maximum_batch) {
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
  std::vector<BatchExecutor::BucketUse> uses;
  uses.reserve(buckets.size());
  for (const std::size_t bucket : buckets) {
    uses.push_back({bucket, 0, 0});
  }
  return uses;
}

std::size_t use_bucket(std::vector<BatchExecutor::BucketUse>& uses, std::size_t samples) {
  const auto use =
      std::find_if(uses.begin(), uses.end(), [&](const BatchExecutor::BucketUse& each) {
        return each.bucket >= samples;
      });
  PLUMB_CHECK(use != uses.end());
  ++use->batches;
  use->samples += samples;
  return use->bucket;
}

void answer_batch(BatchExecutor& executor,
                  const BatchExecutor::Batch& batch,
                  Completions& completions) {
  std::vector<Completions::Response> responses;
  responses.reserve(batch.samples.size());
  for (const SystemUnderTest::Sample& sample : batch.samples) {
    responses.push_back({sample.id, {}});
  }
  // An exception that leaves a lane's thread would end the process.
  try {
    executor.execute(batch, responses);
  } catch (const std::exception& error) {
    std::vector<std::uint64_t> ids;
    ids.reserve(batch.samples.size());
    for (const SystemUnderTest::Sample& sample : batch.samples) {
      ids.push_back(sample.id);
    }
    completions.fail(ids, error.what());
    return;
  }
  completions.complete(responses);
}

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
  for (BatchExecutor::BucketUse& use : uses_) {
    use = {use.bucket, 0, 0};
  }
}

void DirectSystem::issue(std::span<const SystemUnderTest::Sample> samples) {
  while (!samples.empty()) {
    const auto batch = samples.first(std::min(samples.size(), maximum_batch_));
    samples = samples.subspan(batch.size());
    answer_batch(executor_, {0, use_bucket(uses_, batch.size()), batch}, *completions_);
  }
}

DynamicBatcher::DynamicBatcher(BatchExecutor& executor,
                               const DynamicBatcher::Policy& policy,
                               const LoadClock& clock)
    : executor_(executor),
      policy_(policy),
      clock_(clock),
      queue_(policy),
      uses_(unused_buckets(executor, policy.maximum_batch)) {
  if (policy.maximum_batch == 0 || policy.lanes == 0 || policy.lanes > 1024) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a batcher of {} samples a batch and {} lanes: give at least one of each, "
                    "and at most 1024 lanes",
                    policy.maximum_batch,
                    policy.lanes));
  }
  for (std::size_t lane = 0; lane < policy.lanes; ++lane) {
    lanes_.emplace_back([this, lane] { work(lane); });
  }
}

DynamicBatcher::~DynamicBatcher() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& lane : lanes_) {
    lane.join();
  }
}

std::string DynamicBatcher::describe() const {
  return fmt::format("{}, batches of up to {} within {:g} ms, {} at a time",
                     executor_.describe(),
                     policy_.maximum_batch,
                     static_cast<double>(policy_.timeout.count()) * 1e-6,
                     policy_.lanes);
}

void DynamicBatcher::start(std::shared_ptr<Completions> completions) {
  const std::scoped_lock lock(mutex_);
  queue_.clear();
  completions_ = std::move(completions);
  for (BatchExecutor::BucketUse& use : uses_) {
    use = {use.bucket, 0, 0};
  }
}

void DynamicBatcher::issue(std::span<const SystemUnderTest::Sample> samples) {
  const auto now = clock_.now();
  {
    const std::scoped_lock lock(mutex_);
    const bool was_empty = queue_.empty();
    queue_.push(samples, now);
    // A lane already waits for this batch's timeout, so a sample that joins it wakes no other.
    if (!was_empty && !queue_.is_ready(now)) {
      return;
    }
  }
  changed_.notify_one();
}

void DynamicBatcher::flush() {
  {
    const std::scoped_lock lock(mutex_);
    queue_.flush();
  }
  changed_.notify_all();
}

std::vector<BatchExecutor::BucketUse> DynamicBatcher::uses() const {
  const std::scoped_lock lock(mutex_);
  return uses_;
}

void DynamicBatcher::work(std::size_t lane) {
  executor_.enter_lane(lane);
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const auto now = clock_.now();
    if (!queue_.is_ready(now)) {
      if (const auto deadline = queue_.deadline()) {
        changed_.wait_for(lock, *deadline - now);
      } else {
        changed_.wait(lock);
      }
      continue;
    }
    const std::vector<SystemUnderTest::Sample> samples = queue_.pop();
    const std::shared_ptr<Completions> completions = completions_;
    const std::size_t bucket = use_bucket(uses_, samples.size());
    const bool more = !queue_.empty();
    lock.unlock();
    if (more) {
      changed_.notify_one();  // another lane takes care of the rest
    }
    answer_batch(executor_, {lane, bucket, samples}, *completions);
    lock.lock();
  }
}

}  // namespace plumb::loadgen
