// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/completion_recorder.hpp"

#include <algorithm>

namespace plumb::loadgen {

void CompletionRecorder::add_query(std::chrono::nanoseconds scheduled,
                                   std::span<const std::uint64_t> indices,
                                   std::vector<QuerySample>& samples) {
  // The lock is taken only when fresh slots run out, so that issuing rarely waits for answers.
  if (in_flight_.wants_freed(indices.size())) {
    const std::scoped_lock lock(mutex_);
    in_flight_.recycle();
  }
  in_flight_.add(scheduled, added_, indices, samples);
  added_ += indices.size();
}

void CompletionRecorder::settle(InFlightTable::Slot& slot,
                                std::chrono::nanoseconds now,
                                bool failed) {
  // From here on, a second answer to this sample counts as unknown.
  slot.live_id.store(0, std::memory_order_release);
  InFlightTable::Slot& first = in_flight_.first_of_query(slot);
  first.failed = first.failed || failed;
  if (--first.remaining > 0) {
    return;
  }
  if (!first.failed) {
    const std::chrono::nanoseconds latency = now - first.scheduled;
    ++tally_.queries;
    if (options_.query_latencies) {
      tally_.query_latencies.record(latency);
    }
    if (options_.latency_limit && latency > *options_.latency_limit) {
      over_latency_.store(++tally_.over_latency, std::memory_order_relaxed);
    }
  }
  in_flight_.free_query(first);
}

void CompletionRecorder::complete(std::span<const SampleResponse> responses) {
  // Read before the lock: waiting for another thread's bookkeeping is not latency of the system.
  const std::chrono::nanoseconds now = clock_.now();
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    return;
  }
  std::uint64_t answered = 0;
  for (const SampleResponse& response : responses) {
    InFlightTable::Slot* slot = in_flight_.find(response.id);
    if (slot == nullptr) {
      ++tally_.unknown_answers;
      continue;
    }
    if (options_.responses != nullptr) {
      options_.responses->record(slot->sequence, slot->index, response.data);
    }
    tally_.sample_latencies.record(now - slot->scheduled);
    if (slot->sequence >= last_sequence_) {
      last_sequence_ = slot->sequence;
      tally_.last_issued_completion = now;
    }
    settle(*slot, now, false);
    ++answered;
  }
  tally_.samples += answered;
  tally_.last_completion = std::max(tally_.last_completion, now);
  done_.add(answered);
}

void CompletionRecorder::fail(std::span<const std::uint64_t> ids, std::string_view reason) {
  const std::chrono::nanoseconds now = clock_.now();
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    return;
  }
  std::uint64_t answered = 0;
  for (const std::uint64_t id : ids) {
    InFlightTable::Slot* slot = in_flight_.find(id);
    if (slot == nullptr) {
      ++tally_.unknown_answers;
      continue;
    }
    settle(*slot, now, true);
    ++answered;
  }
  if (tally_.failed_samples == 0 && answered > 0) {
    tally_.first_failure = reason.substr(0, 1000);
  }
  tally_.failed_samples += answered;
  done_.add(answered);
}

void CompletionRecorder::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
}

}  // namespace plumb::loadgen
