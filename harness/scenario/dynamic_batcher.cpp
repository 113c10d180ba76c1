// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario/dynamic_batcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb {

DynamicBatcher::DynamicBatcher(BatchExecutor& executor,
                               const BatchPolicy& policy,
                               const LoadClock& clock)
    : executor_(executor), policy_(policy), clock_(clock), queue_(policy) {
  const std::vector<std::size_t> buckets = executor.buckets();
  const bool ascending =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (policy.maximum_batch == 0 || policy.lanes == 0 || policy.lanes > 1024) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a batcher of {} samples a batch and {} lanes: give at least one of each, "
                    "and at most 1024 lanes",
                    policy.maximum_batch,
                    policy.lanes));
  }
  if (buckets.empty() || !ascending || buckets.back() < policy.maximum_batch) {
    throw Error(Error::Kind::kUser,
                fmt::format("buckets {} do not hold batches of {}: give ascending batch sizes, the "
                            "last at least that",
                            fmt::join(buckets, ", "),
                            policy.maximum_batch));
  }
  for (const std::size_t bucket : buckets) {
    uses_.push_back({bucket, 0, 0});
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
  for (BucketUse& use : uses_) {
    use.batches = 0;
    use.samples = 0;
  }
}

void DynamicBatcher::issue(std::span<const QuerySample> samples) {
  const auto now = clock_.now();
  {
    const std::scoped_lock lock(mutex_);
    const bool was_empty = queue_.empty();
    queue_.push(samples, now);
    // Nobody need wake up for a sample that joins a batch whose time-out a lane waits for already.
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

std::vector<DynamicBatcher::BucketUse> DynamicBatcher::uses() const {
  const std::scoped_lock lock(mutex_);
  return uses_;
}

void DynamicBatcher::work(std::size_t lane) {
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
    const std::vector<QuerySample> samples = queue_.pop();
    const std::shared_ptr<Completions> completions = completions_;
    const auto use = std::find_if(uses_.begin(), uses_.end(), [&](const BucketUse& each) {
      return each.bucket >= samples.size();
    });
    ++use->batches;
    use->samples += samples.size();
    const std::size_t bucket = use->bucket;
    const bool more = !queue_.empty();
    lock.unlock();
    if (more) {
      changed_.notify_one();  // another lane watches the rest
    }
    execute(lane, samples, bucket, *completions);
    lock.lock();
  }
}

void DynamicBatcher::execute(std::size_t lane,
                             const std::vector<QuerySample>& samples,
                             std::size_t bucket,
                             Completions& completions) {
  std::vector<SampleResponse> responses;
  std::vector<std::uint64_t> ids;
  for (const QuerySample& sample : samples) {
    responses.push_back({sample.id, {}});
    ids.push_back(sample.id);
  }
  // A lane is a thread's outermost function: what is not caught here ends the process.
  try {
    executor_.execute({lane, bucket, samples}, responses);
  } catch (const std::exception& error) {
    completions.fail(ids, error.what());
    return;
  }
  completions.complete(responses);
}

}  // namespace plumb
