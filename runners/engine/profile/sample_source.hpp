// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/worker/protocol/step_mark.hpp"

namespace plumb::engine {

/// Source of samples of some threads.
class SampleSource {
 public:
  /// Lock-free ring of samples between one producer and one consumer.
  ///
  /// The producer may be a signal handler, also one that interrupts the consumer.
  class Ring {
   public:
    struct Sample {
      std::uint64_t address = 0;
      std::uint32_t step = 0;
    };

    /// Makes room for `capacity` samples or more.
    explicit Ring(std::size_t capacity) : samples_(std::bit_ceil(capacity)) {}

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

  /// Options of an AddressSampler.
  struct Options {
    double rate = 1000.0;  ///< samples a second of each thread
    /// Clocks to try, best first.
    std::vector<results::SampledProfile::Clock> clocks{results::SampledProfile::Clock::kCycles,
                                                       results::SampledProfile::Clock::kThread,
                                                       results::SampledProfile::Clock::kCpuClock,
                                                       results::SampledProfile::Clock::kTimer};
    std::uint64_t seed = 1;  ///< of the periods, which are drawn within ±25 %
    std::size_t depth = 0;   ///< of the chains of calls; zero: none. Signals have none
  };

  virtual ~SampleSource() = default;
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  SampleSource(SampleSource&&) = delete;
  SampleSource& operator=(SampleSource&&) = delete;

  virtual void start() = 0;
  virtual void stop() = 0;
  /// Appends the samples since the last call to those of a profile, as samples of a block. Called
  /// after stop().
  virtual void take(std::uint32_t block, results::SampledProfile& profile) = 0;
  /// Returns the number of samples for which there was no room.
  [[nodiscard]] virtual std::uint64_t lost() const = 0;
};

/// Opens a source of samples that the kernel takes of each of the threads (perf_event_open).
///
/// The kernel writes address and time into a ring of its own, without a signal. `step` keeps when
/// steps begin, and the two are joined by time. Each start uses the next of a few periods, which
/// are drawn within ±25 %. Throws Error{kEnvironment} with the system's reason.
[[nodiscard]] std::unique_ptr<SampleSource> open_kernel_samples(
    results::SampledProfile::Clock clock,
    const std::vector<pid_t>& threads,
    const SampleSource::Options& options,
    worker::StepMark& step);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Opens a source of samples that a signal (SIGPROF) takes on each of the threads: by a timer of
/// the thread, or by a further thread on another processor (SignalSender).
///
/// The handler writes address and step into the thread's ring. It runs on an alternate stack, which
/// each thread gets here, while no thread executes the program. A thread that blocks the signal has
/// no samples, and no sample has a chain of calls. There is at most one such source at a time.
/// Throws Error{kEnvironment} with the system's reason.
[[nodiscard]] std::unique_ptr<SampleSource> open_signalled_samples(
    results::SampledProfile::Clock clock,
    const std::vector<pid_t>& threads,
    const SampleSource::Options& options,
    const worker::StepMark& step);

}  // namespace plumb::engine
