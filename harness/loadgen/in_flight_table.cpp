// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/in_flight_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"

namespace plumb::loadgen {

InFlightTable::Slot& InFlightTable::at(std::uint32_t slot) {
  return visible_chunks_[slot / kSlotsAChunk].load(std::memory_order_acquire)[slot % kSlotsAChunk];
}

std::uint32_t InFlightTable::take_free() {
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

void InFlightTable::add(std::chrono::nanoseconds scheduled,
                        std::uint64_t sequence,
                        std::span<const std::uint64_t> indices,
                        std::vector<QuerySample>& samples) {
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

void InFlightTable::recycle() {
  if (freed_ == kNone) {
    return;
  }
  at(freed_last_).next = free_;
  free_ = freed_;
  free_count_ += freed_count_;
  freed_ = kNone;
  freed_count_ = 0;
}

InFlightTable::Slot* InFlightTable::find(std::uint64_t id) {
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

void InFlightTable::free_query(Slot& first) {
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

}  // namespace plumb::loadgen
