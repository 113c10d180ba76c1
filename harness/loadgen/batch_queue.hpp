// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Conditions under which waiting samples make a batch.
struct BatchPolicy {
  std::size_t maximum_batch = 8;
  std::chrono::nanoseconds timeout{};  ///< longest wait of a sample for others; 0: it does not wait
  std::size_t lanes = 1;               ///< batches executed at a time
};

/// Queue of samples that wait for a batch, in order of arrival. It reads no clock: callers pass the
/// time. Not thread-safe.
class BatchQueue {
 public:
  explicit BatchQueue(const BatchPolicy& policy) : policy_(policy) {}

  void push(std::span<const QuerySample> samples, std::chrono::nanoseconds now) {
    for (const QuerySample& sample : samples) {
      waiting_.push_back({sample, now});
    }
  }
  /// Makes all samples that wait now due.
  void flush() { due_ = waiting_.size(); }
  void clear() {
    waiting_.clear();
    due_ = 0;
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Returns whether a batch is full, flushed, or has waited long enough.
  [[nodiscard]] bool is_ready(std::chrono::nanoseconds now) const {
    return !waiting_.empty() &&
           (due_ > 0 || waiting_.size() >= policy_.maximum_batch || now >= *deadline());
  }
  /// Returns when the oldest sample has waited long enough. Absent if none waits.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> deadline() const {
    return waiting_.empty() ? std::nullopt
                            : std::optional(waiting_.front().since + policy_.timeout);
  }
  /// Removes and returns the oldest samples, at most a full batch.
  [[nodiscard]] std::vector<QuerySample> pop() {
    const std::size_t size =
        waiting_.size() < policy_.maximum_batch ? waiting_.size() : policy_.maximum_batch;
    std::vector<QuerySample> batch;
    batch.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      batch.push_back(waiting_.front().sample);
      waiting_.pop_front();
    }
    due_ -= size < due_ ? size : due_;
    return batch;
  }

 private:
  struct Waiting {
    QuerySample sample;
    std::chrono::nanoseconds since{};
  };

  BatchPolicy policy_;
  std::deque<Waiting> waiting_;
  std::size_t due_ = 0;  // flushed samples, at the front
};

}  // namespace plumb::loadgen
