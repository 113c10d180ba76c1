// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/base/units.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {

/// Returns for how many nanoseconds a thread of this process ran so far. Async-signal-safe.
[[nodiscard]] std::int64_t read_running_time(pid_t thread) noexcept;
/// Returns the nanoseconds of the monotonic clock. Async-signal-safe.
[[nodiscard]] std::int64_t read_monotonic_time() noexcept;

/// Counts the processors that this process may use, whatever its threads are bound to.
[[nodiscard]] std::size_t count_processors();

/// Thread on a processor of its own that sends signals to others of this process.
///
/// Each target gets its signals after random times, within ±25 % of a period, and none while it
/// waits. An interruption by another processor takes less of the target's time than a timer of its
/// own, above all on virtual machines.
class SignalSender {
 public:
  /// What a thread ran and what time passed, from one look to the next.
  ///
  /// A handler may look while another thread begins anew, if its signal was sent before the end of
  /// what was sampled. Then one answer may be of either time.
  class RunningShare {
   public:
    explicit RunningShare(pid_t thread) : thread_(thread) {}
    /// Takes the place of another one, which nobody looks at.
    RunningShare(RunningShare&& other) noexcept
        : thread_(other.thread_), ran_(other.ran_.load()), passed_(other.passed_.load()) {}
    RunningShare(const RunningShare&) = delete;
    RunningShare& operator=(const RunningShare&) = delete;
    RunningShare& operator=(RunningShare&&) = delete;
    ~RunningShare() = default;

    void begin() noexcept;
    /// Returns whether the thread ran for at least half of the time since the last look.
    /// Async-signal-safe.
    [[nodiscard]] bool look() noexcept;

   private:
    pid_t thread_;
    std::atomic<std::int64_t> ran_{0};     ///< nanoseconds at the last look
    std::atomic<std::int64_t> passed_{0};  ///< likewise
    static_assert(std::atomic<std::int64_t>::is_always_lock_free, "handlers of signals use it");
  };

  /// Receiver of signals, and the pointer that comes with each.
  struct Target {
    pid_t thread = 0;
    void* value = nullptr;
  };

  /// Throws Error{kEnvironment} unless the process may use a second processor.
  SignalSender(const std::vector<Target>& targets, int signal, Seconds period, std::uint64_t seed);
  ~SignalSender();
  SignalSender(const SignalSender&) = delete;
  SignalSender& operator=(const SignalSender&) = delete;
  SignalSender(SignalSender&&) = delete;
  SignalSender& operator=(SignalSender&&) = delete;

  /// Begins on another processor than the calling thread's. The first times are such that every
  /// part of what follows is as likely.
  void start();
  /// Returns once no further signal will be sent.
  void stop();

 private:
  struct Due {
    Target target;
    RunningShare share;
    RandomStream periods;
    std::uint64_t drawn = 0;
    std::int64_t time = 0;  ///< of the next signal, by read_monotonic_time()
  };

  void run();
  void send(const Due& due) const noexcept;
  [[nodiscard]] static double draw(Due& due);

  int signal_;
  double period_;  ///< nanoseconds
  std::vector<Due> due_;
  std::mutex mutex_;  ///< of what follows, and of `due_`
  std::condition_variable changed_;
  bool running_ = false;
  bool ended_ = false;
  std::thread thread_;
};

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Sets the handler of a signal. Null: the signal is ignored.
void set_signal_handler(int signal, SignalHandler handler, int flags = 0) noexcept;

/// Gives threads of this process alternate stacks, on which handlers with SA_ONSTACK run, and
/// returns the threads that have one. A thread with a stack of its own keeps it. Threads that have
/// ended or block the signal get none.
///
/// Code that a library makes at run time may keep data below the stack pointer, where a handler on
/// the thread's own stack would overwrite them. So no thread may execute such code meanwhile: it is
/// one such handler, for `signal`, that sets its stack. The signal is ignored afterwards. A stack
/// lasts as long as its thread. Throws Error{kEnvironment} if a thread does not answer.
[[nodiscard]] std::vector<pid_t> give_signal_stacks(const std::vector<pid_t>& threads, int signal);

}  // namespace plumb::engine
