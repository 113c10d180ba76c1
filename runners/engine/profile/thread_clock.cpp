// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/thread_clock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "harness/base/error.hpp"
#include "harness/base/file_descriptor.hpp"

namespace plumb::engine {
namespace {

[[noreturn]] void fail(results::SamplingClock clock, int reason) {
  throw Error(Error::Kind::kEnvironment,
              fmt::format("{}: {}", results::to_text(clock), std::strerror(reason)));
}

/// Opens an event of one thread of this process; 0 is the calling one. Without a period it counts
/// only.
FileDescriptor open_event(results::SamplingClock clock, pid_t thread, std::uint64_t period) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = clock == results::SamplingClock::kCycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  event.config = clock == results::SamplingClock::kCycles ? std::uint64_t{PERF_COUNT_HW_CPU_CYCLES}
                                                          : std::uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  event.sample_period = period;
  if (period > 0) {
    event.disabled = 1;
  }
  event.exclude_kernel = 1;  // what users without privileges may observe
  event.exclude_hv = 1;
  event.wakeup_events = 1;
  return FileDescriptor(static_cast<int>(
      ::syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

/// Counts an event of this thread while it runs, and returns its rate in a second.
double measure_rate(results::SamplingClock clock) {
  constexpr std::chrono::milliseconds kSpan{2};
  const FileDescriptor counter = open_event(clock, 0, 0);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  if (::read(counter.number(), &before, sizeof before) != sizeof before) {
    fail(clock, errno);
  }
  auto now = begin;
  while (now - begin < kSpan) {
    now = std::chrono::steady_clock::now();
  }
  if (::read(counter.number(), &after, sizeof after) != sizeof after || after <= before) {
    fail(clock, ENODATA);
  }
  return static_cast<double>(after - before) / Seconds(now - begin).count();
}

/// Event of the kernel's performance counters, which signals its overflow to its thread.
class EventClock final : public ThreadClock {
 public:
  EventClock(results::SamplingClock clock, pid_t thread, int signal)
      : event_(open_event(clock, thread, kFirstPeriod)) {
    if (event_.number() < 0) {
      fail(clock, errno);
    }
    const f_owner_ex owner{F_OWNER_TID, thread};
    if (::fcntl(event_.number(), F_SETFL, O_ASYNC | O_NONBLOCK) != 0 ||
        ::fcntl(event_.number(), F_SETSIG, signal) != 0 ||
        ::fcntl(event_.number(), F_SETOWN_EX, &owner) != 0) {
      fail(clock, errno);
    }
    rate_ = measure_rate(clock);
  }

  void start(Seconds period) override {
    set_period(period);
    ::ioctl(event_.number(), PERF_EVENT_IOC_ENABLE, 0);
  }
  void set_period(Seconds period) noexcept override {
    auto units = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(period.count() * rate_));
    ::ioctl(event_.number(), PERF_EVENT_IOC_PERIOD, &units);
  }
  void stop() noexcept override { ::ioctl(event_.number(), PERF_EVENT_IOC_DISABLE, 0); }
  [[nodiscard]] bool has_sent(const siginfo_t& signal) const noexcept override {
    return signal.si_code > 0 && signal.si_code != SI_KERNEL && signal.si_fd == event_.number();
  }

 private:
  static constexpr std::uint64_t kFirstPeriod = 1'000'000;

  FileDescriptor event_;
  double rate_ = 1.0;  ///< units of a period in a second
};

/// Timer of elapsed time, which signals to its thread.
class TimerClock final : public ThreadClock {
 public:
  TimerClock(pid_t thread, int signal)
      // The kernel's number for the clock of a thread's running time.
      : running_time_(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U)) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = thread;  // glibc 2.36 has no other name for it
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) {
      fail(results::SamplingClock::kTimer, errno);
    }
  }
  ~TimerClock() override { ::timer_delete(timer_); }
  TimerClock(const TimerClock&) = delete;
  TimerClock& operator=(const TimerClock&) = delete;
  TimerClock(TimerClock&&) = delete;
  TimerClock& operator=(TimerClock&&) = delete;

  void start(Seconds period) override {
    ran_ = read(running_time_);
    passed_ = read(CLOCK_MONOTONIC);
    set_period(period);
  }
  void set_period(Seconds period) noexcept override {
    itimerspec next{};
    // Zero would end the timer.
    const auto nanoseconds =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(period.count() * 1e9));
    next.it_value.tv_sec = nanoseconds / 1'000'000'000;
    next.it_value.tv_nsec = nanoseconds % 1'000'000'000;
    ::timer_settime(timer_, 0, &next, nullptr);
  }
  void stop() noexcept override {
    const itimerspec never{};
    ::timer_settime(timer_, 0, &never, nullptr);
  }
  [[nodiscard]] bool has_sent(const siginfo_t& signal) const noexcept override {
    return signal.si_code == SI_TIMER && signal.si_value.sival_ptr == this;
  }
  [[nodiscard]] bool has_run() noexcept override {
    constexpr double kRunning = 0.5;  // of the time since: else the thread waited for most of it
    const std::int64_t ran = read(running_time_);
    const std::int64_t passed = read(CLOCK_MONOTONIC);
    const bool running =
        static_cast<double>(ran - ran_) >= kRunning * static_cast<double>(passed - passed_);
    ran_ = ran;
    passed_ = passed;
    return running;
  }

 private:
  static std::int64_t read(clockid_t clock) noexcept {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }

  clockid_t running_time_;
  timer_t timer_{};
  std::int64_t ran_ = 0;     ///< nanoseconds at the last look
  std::int64_t passed_ = 0;  ///< likewise
};

}  // namespace

std::unique_ptr<ThreadClock> open_thread_clock(results::SamplingClock clock,
                                               pid_t thread,
                                               int signal) {
  if (clock == results::SamplingClock::kTimer) {
    return std::make_unique<TimerClock>(thread, signal);
  }
  return std::make_unique<EventClock>(clock, thread, signal);
}

}  // namespace plumb::engine
