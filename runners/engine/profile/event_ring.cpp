// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/event_ring.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kSampleWords = 3;  // header, address, time
constexpr std::size_t kLostWords = 3;    // header, event, number of samples

/// Reads or writes a position that the kernel shares.
std::atomic_ref<__u64> shared(__u64& position) {
  return std::atomic_ref<__u64>(position);
}

}  // namespace

EventRing::EventRing(int event, std::size_t most, std::size_t depth) : depth_(depth) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t data = std::bit_floor(std::max(most, page)); data >= page; data /= 2) {
    bytes_ = page + data;
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (memory != MAP_FAILED) {
      page_ = static_cast<perf_event_mmap_page*>(memory);
      return;
    }
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("no memory for samples: {}", std::strerror(errno)));
}

EventRing::~EventRing() {
  ::munmap(page_, bytes_);
}

std::size_t EventRing::capacity() const {
  constexpr std::size_t kChainWords = 3;  // its length, the mark of user space, the address itself
  const std::size_t words = kSampleWords + (depth_ > 0 ? kChainWords + depth_ : 0);
  return page_->data_size / (words * sizeof(std::uint64_t));
}

std::size_t EventRing::copy_record(std::uint64_t place, std::uint64_t end) {
  const auto* const data = reinterpret_cast<const std::byte*>(page_) + page_->data_offset;
  const std::uint64_t first = place % page_->data_size;
  perf_event_header header{};
  std::memcpy(&header, data + first, sizeof header);  // never split: records are of 8 bytes each
  if (header.size < sizeof header || header.size > end - place) {
    return 0;
  }
  record_.assign((header.size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  const auto until_end = std::min<std::uint64_t>(header.size, page_->data_size - first);
  auto* const copy = reinterpret_cast<std::byte*>(record_.data());
  std::memcpy(copy, data + first, until_end);
  std::memcpy(copy + until_end, data, header.size - until_end);
  return header.size;
}

std::optional<EventRing::Sample> EventRing::read_sample() const {
  perf_event_header header{};
  std::memcpy(&header, record_.data(), sizeof header);
  if (header.type != PERF_RECORD_SAMPLE || record_.size() < kSampleWords) {
    return std::nullopt;
  }
  Sample sample{record_[1], record_[2], (header.misc & PERF_RECORD_MISC_EXACT_IP) != 0, {}};
  if (depth_ > 0 && record_.size() > kSampleWords) {
    const auto room = record_.size() - kSampleWords - 1;
    auto calls =
        std::span(record_).subspan(kSampleWords + 1, std::min(room, record_[kSampleWords]));
    if (!calls.empty() && calls.front() >= PERF_CONTEXT_MAX) {
      calls = calls.subspan(1);  // the mark of user space
    }
    sample.calls = calls.empty() ? calls : calls.subspan(1, std::min(depth_, calls.size() - 1));
  }
  return sample;
}

void EventRing::drain(const std::function<void(const Sample&)>& take) {
  const std::uint64_t end = shared(page_->data_head).load(std::memory_order_acquire);
  std::uint64_t place = shared(page_->data_tail).load(std::memory_order_relaxed);
  while (place < end) {
    const std::size_t size = copy_record(place, end);
    if (size == 0) {
      place = end;
      break;
    }
    perf_event_header header{};
    std::memcpy(&header, record_.data(), sizeof header);
    if (const std::optional<Sample> sample = read_sample()) {
      take(*sample);
    } else if (header.type == PERF_RECORD_LOST && record_.size() >= kLostWords) {
      lost_ += record_[2];
    }
    place += size;
  }
  shared(page_->data_tail).store(place, std::memory_order_release);
}

}  // namespace plumb::engine
