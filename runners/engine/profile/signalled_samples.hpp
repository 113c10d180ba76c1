// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/worker/protocol/step_mark.hpp"
#include "runners/engine/profile/sample_source.hpp"

namespace plumb::engine {

/// Lock-free ring of samples between one producer and one consumer.
///
/// The producer may be a signal handler, also one that interrupts the consumer.
class SampleRing {
 public:
  struct Sample {
    std::uint64_t address = 0;
    std::uint32_t step = 0;
  };

  /// Makes room for `capacity` samples or more.
  explicit SampleRing(std::size_t capacity) : samples_(std::bit_ceil(capacity)) {}

  /// Adds a sample, or counts it as lost if there is no room. Async-signal-safe.
  void push(const Sample& sample) noexcept {
    const std::uint64_t next = written_.load(std::memory_order_relaxed);
    if (next - read_.load(std::memory_order_acquire) == samples_.size()) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    samples_[next & (samples_.size() - 1)] = sample;
    written_.store(next + 1, std::memory_order_release);
  }

  /// Removes the samples that there are now, oldest first, and calls `take` with each.
  template <typename Take>
  void drain(Take&& take) {
    const std::uint64_t end = written_.load(std::memory_order_acquire);
    std::uint64_t next = read_.load(std::memory_order_relaxed);
    for (; next != end; ++next) {
      take(samples_[next & (samples_.size() - 1)]);
    }
    read_.store(next, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  std::vector<Sample> samples_;  ///< a power of two
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> lost_{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Opens a source of samples that a signal (SIGPROF) takes on each of the threads: by a timer of
/// the thread, or by a further thread on another processor (SignalSender).
///
/// The handler writes address and step into the thread's ring. It runs on an alternate stack, which
/// each thread gets here, while no thread executes the program. A thread that blocks the signal has
/// no samples, and no sample has a chain of calls. There is at most one such source at a time.
/// Throws Error{kEnvironment} with the system's reason.
[[nodiscard]] std::unique_ptr<SampleSource> open_signalled_samples(
    results::SamplingClock clock,
    const std::vector<pid_t>& threads,
    const SamplerOptions& options,
    const worker::StepMark& step);

}  // namespace plumb::engine
