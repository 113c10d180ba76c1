// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/results/profile/sampled_profile.hpp"
#include "harness/worker/protocol/step_mark.hpp"

namespace plumb::engine {

/// Options of an AddressSampler.
struct SamplerOptions {
  double rate = 1000.0;  ///< samples a second of each thread
  /// Clocks to try, best first.
  std::vector<results::SamplingClock> clocks{results::SamplingClock::kCycles,
                                             results::SamplingClock::kThread,
                                             results::SamplingClock::kCpuClock,
                                             results::SamplingClock::kTimer};
  std::uint64_t seed = 1;  ///< of the periods, which are drawn within ±25 %
  std::size_t depth = 0;   ///< of the chains of calls; zero: none. Signals have none
};

/// Source of samples of some threads.
class SampleSource {
 public:
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
[[nodiscard]] std::unique_ptr<SampleSource> open_kernel_samples(results::SamplingClock clock,
                                                                const std::vector<pid_t>& threads,
                                                                const SamplerOptions& options,
                                                                worker::StepMark& step);

}  // namespace plumb::engine
