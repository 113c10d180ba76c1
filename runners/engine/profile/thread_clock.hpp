// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <memory>

#include "harness/base/units.hpp"
#include "harness/results/profile/sampled_profile.hpp"

namespace plumb::engine {

/// Clock that interrupts one thread with a signal whenever a period is over.
class ThreadClock {
 public:
  virtual ~ThreadClock() = default;
  ThreadClock() = default;
  ThreadClock(const ThreadClock&) = delete;
  ThreadClock& operator=(const ThreadClock&) = delete;
  ThreadClock(ThreadClock&&) = delete;
  ThreadClock& operator=(ThreadClock&&) = delete;

  /// Begins with a first period.
  virtual void start(Seconds period) = 0;
  /// Sets the next period, from the signal's handler. Async-signal-safe.
  virtual void set_period(Seconds period) noexcept = 0;
  /// Ends the signals, but for one that is on its way.
  virtual void stop() noexcept = 0;
  /// Returns whether this clock sent a signal. Async-signal-safe.
  [[nodiscard]] virtual bool has_sent(const siginfo_t& signal) const noexcept = 0;
  /// Returns whether the thread ran since the last call. Called by the handler, on the thread.
  [[nodiscard]] virtual bool has_run() noexcept { return true; }
};

/// Opens a clock of a thread of this process, which sends `signal`. Throws Error{kEnvironment} with
/// the system's reason if the machine has no such clock.
[[nodiscard]] std::unique_ptr<ThreadClock> open_thread_clock(results::SamplingClock clock,
                                                             pid_t thread,
                                                             int signal);

}  // namespace plumb::engine
