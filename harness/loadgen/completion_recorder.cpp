// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/completion_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {

CompletionRecorder::Histogram::Histogram()
    : buckets_(find_bucket(std::numeric_limits<std::int64_t>::max()) + 1),
      least_(std::numeric_limits<std::uint64_t>::max()) {}

std::uint64_t CompletionRecorder::Histogram::compute_highest(std::size_t bucket) {
  const std::size_t octave = bucket >> kBits;
  if (octave < 2) {
    return bucket;
  }
  const std::size_t shift = octave - 1;
  return ((static_cast<std::uint64_t>(bucket) - (shift << kBits) + 1) << shift) - 1;
}

CompletionRecorder::Histogram::Nanoseconds CompletionRecorder::Histogram::min() const {
  return Nanoseconds(count_ == 0 ? 0 : static_cast<std::int64_t>(least_));
}

CompletionRecorder::Histogram::Nanoseconds CompletionRecorder::Histogram::max() const {
  return Nanoseconds(static_cast<std::int64_t>(largest_));
}

CompletionRecorder::Histogram::Nanoseconds CompletionRecorder::Histogram::mean() const {
  return Nanoseconds(count_ == 0 ? 0
                                 : static_cast<std::int64_t>(sum_ / static_cast<double>(count_)));
}

CompletionRecorder::Histogram::Nanoseconds CompletionRecorder::Histogram::at_rank(
    std::uint64_t rank) const {
  if (rank + 1 >= count_) {
    return max();
  }
  std::uint64_t seen = 0;
  std::size_t bucket = find_bucket(least_);
  for (seen = buckets_[bucket]; seen <= rank; seen += buckets_[bucket]) {
    ++bucket;
  }
  return Nanoseconds(static_cast<std::int64_t>(std::min(compute_highest(bucket), largest_)));
}

CompletionRecorder::Histogram::Nanoseconds CompletionRecorder::Histogram::percentile(
    double percent) const {
  return at_rank(static_cast<std::uint64_t>(static_cast<double>(count_) * fraction_of(percent)));
}

CompletionRecorder::InFlightTable::Slot& CompletionRecorder::InFlightTable::at(std::uint32_t slot) {
  return visible_chunks_[slot / kSlotsAChunk].load(std::memory_order_acquire)[slot % kSlotsAChunk];
}

std::uint32_t CompletionRecorder::InFlightTable::take_free() {
  if (free_ == kNone) {
    if (chunks_.size() == kChunks) {
      throw Error(Error::Kind::kUser,
                  fmt::format("{} samples are outstanding and the system does not answer: lower "
                              "the rate or the samples per query",
                              std::uint64_t{kChunks} * kSlotsAChunk));
    }
    auto chunk = std::make_unique<Slot[]>(kSlotsAChunk);
    const auto base = static_cast<std::uint32_t>(chunks_.size()) * kSlotsAChunk;
    for (std::uint32_t i = 0; i < kSlotsAChunk; ++i) {
      chunk[i].next = i + 1 < kSlotsAChunk ? base + i + 1 : kNone;
    }
    visible_chunks_[chunks_.size()].store(chunk.get(), std::memory_order_release);
    chunks_.push_back(std::move(chunk));
    free_ = base;
    free_count_ += kSlotsAChunk;
  }
  const std::uint32_t slot = free_;
  free_ = at(slot).next;
  --free_count_;
  return slot;
}

void CompletionRecorder::InFlightTable::add(std::chrono::nanoseconds scheduled,
                                            std::uint64_t sequence,
                                            std::span<const std::uint64_t> indices,
                                            std::vector<SystemUnderTest::Sample>& samples) {
  samples.clear();
  std::uint32_t first = kNone;
  std::uint32_t previous = kNone;
  for (const std::uint64_t index : indices) {
    const std::uint32_t number = take_free();
    Slot& slot = at(number);
    if (first == kNone) {
      first = number;
      slot.remaining = static_cast<std::uint32_t>(indices.size());
      slot.failed = false;
    } else {
      at(previous).next = number;
    }
    previous = number;
    slot.scheduled = scheduled;
    slot.sequence = sequence++;
    slot.index = index;
    slot.query = first;
    slot.next = kNone;
    // The slot's number plus one: an id is never 0.
    const std::uint64_t id = (std::uint64_t{slot.uses++} << 32U) | (number + 1);
    slot.live_id.store(id, std::memory_order_release);
    samples.push_back({id, index});
  }
}

void CompletionRecorder::InFlightTable::recycle() {
  if (freed_ == kNone) {
    return;
  }
  at(freed_last_).next = free_;
  free_ = freed_;
  free_count_ += freed_count_;
  freed_ = kNone;
  freed_count_ = 0;
}

CompletionRecorder::InFlightTable::Slot* CompletionRecorder::InFlightTable::find(std::uint64_t id) {
  const auto number = static_cast<std::uint32_t>(id) - 1;
  if (number / kSlotsAChunk >= kChunks) {
    return nullptr;
  }
  Slot* chunk = visible_chunks_[number / kSlotsAChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) {
    return nullptr;
  }
  Slot& slot = chunk[number % kSlotsAChunk];
  return slot.live_id.load(std::memory_order_acquire) == id ? &slot : nullptr;
}

void CompletionRecorder::InFlightTable::free_query(Slot& first) {
  std::uint32_t number = first.query;
  while (number != kNone) {
    Slot& slot = at(number);
    const std::uint32_t following = slot.next;
    if (freed_ == kNone) {
      freed_last_ = number;
    }
    slot.next = freed_;
    freed_ = number;
    ++freed_count_;
    number = following;
  }
}

void CompletionRecorder::add_query(std::chrono::nanoseconds scheduled,
                                   std::span<const std::uint64_t> indices,
                                   std::vector<SystemUnderTest::Sample>& samples) {
  // The lock is taken only when fresh slots run out, so that issuing rarely waits for answers.
  if (in_flight_.wants_freed(indices.size())) {
    const std::scoped_lock lock(mutex_);
    in_flight_.recycle();
  }
  in_flight_.add(scheduled, added_, indices, samples);
  added_ += indices.size();
}

void CompletionRecorder::settle(CompletionRecorder::InFlightTable::Slot& slot,
                                std::chrono::nanoseconds now,
                                bool failed) {
  // From here on, a second answer to this sample counts as unknown.
  slot.live_id.store(0, std::memory_order_release);
  CompletionRecorder::InFlightTable::Slot& first = in_flight_.first_of_query(slot);
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

void CompletionRecorder::complete(std::span<const Completions::Response> responses) {
  // Read before the lock: waiting for another thread's bookkeeping is not latency of the system.
  const std::chrono::nanoseconds now = clock_.now();
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    return;
  }
  std::uint64_t answered = 0;
  for (const Completions::Response& response : responses) {
    CompletionRecorder::InFlightTable::Slot* slot = in_flight_.find(response.id);
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
    CompletionRecorder::InFlightTable::Slot* slot = in_flight_.find(id);
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
