// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/signal_sender.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::int64_t read(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNanoseconds + now.tv_nsec;
}

std::chrono::steady_clock::time_point time_point(std::int64_t monotonic) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic));
}

/// Moves a thread to any processor but one, as far as the process may use others.
void keep_off(pthread_t thread, int processor) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (i != static_cast<std::size_t>(processor)) {
      CPU_SET(i, &others);
    }
  }
  ::pthread_setaffinity_np(thread, sizeof others, &others);
}

}  // namespace

std::size_t count_processors() {
  int count = 1;
  std::thread([&count] {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      CPU_SET(i, &processors);
    }
    ::sched_setaffinity(0, sizeof processors, &processors);
    if (::sched_getaffinity(0, sizeof processors, &processors) == 0) {
      count = CPU_COUNT(&processors);
    }
  }).join();
  return static_cast<std::size_t>(count);
}

std::int64_t read_running_time(pid_t thread) noexcept {
  // The kernel's number for the clock of a thread's running time.
  return read(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U));
}

std::int64_t read_monotonic_time() noexcept {
  return read(CLOCK_MONOTONIC);
}

void RunningShare::begin() noexcept {
  ran_.store(read_running_time(thread_), std::memory_order_relaxed);
  passed_.store(read_monotonic_time(), std::memory_order_relaxed);
}

bool RunningShare::look() noexcept {
  constexpr double kRunning = 0.5;
  const std::int64_t ran = read_running_time(thread_);
  const std::int64_t passed = read_monotonic_time();
  const auto ran_since = static_cast<double>(ran - ran_.exchange(ran, std::memory_order_relaxed));
  const auto passed_since =
      static_cast<double>(passed - passed_.exchange(passed, std::memory_order_relaxed));
  return ran_since >= kRunning * passed_since;
}

SignalSender::SignalSender(const std::vector<Target>& targets,
                           int signal,
                           Seconds period,
                           std::uint64_t seed)
    : signal_(signal), period_(period.count() * static_cast<double>(kNanoseconds)) {
  if (count_processors() < 2) {
    throw Error(Error::Kind::kEnvironment, "thread: there is no second processor");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    due_.push_back({targets[i], RunningShare(targets[i].thread), RandomStream(seed, i), 0, 0});
  }
  thread_ = std::thread([this] { run(); });
}

SignalSender::~SignalSender() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SignalSender::start() {
  keep_off(thread_.native_handle(), ::sched_getcpu());
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = read_monotonic_time();
    for (Due& due : due_) {
      due.share.begin();
      due.time = now + static_cast<std::int64_t>(period_ * draw(due));
    }
    running_ = true;
  }
  changed_.notify_one();
}

void SignalSender::stop() {
  const std::lock_guard lock(mutex_);
  running_ = false;
}

double SignalSender::draw(Due& due) {
  constexpr std::uint64_t kSteps = 1U << 20U;
  return static_cast<double>(due.periods.below(due.drawn++, kSteps)) / kSteps;
}

void SignalSender::send(const Due& due) const noexcept {
  siginfo_t signal{};
  signal.si_signo = signal_;
  signal.si_code = SI_QUEUE;
  signal.si_pid = ::getpid();
  signal.si_uid = ::getuid();
  signal.si_value.sival_ptr = due.target.value;
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), due.target.thread, signal_, &signal);
}

void SignalSender::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (!running_) {
      changed_.wait(lock, [this] { return running_ || ended_; });
      continue;
    }
    Due& next = *std::min_element(
        due_.begin(), due_.end(), [](const Due& a, const Due& b) { return a.time < b.time; });
    if (read_monotonic_time() < next.time) {
      changed_.wait_until(lock, time_point(next.time));
      continue;  // it may have been stopped, or started anew
    }
    if (next.share.look()) {
      send(next);
    }
    // A delay of this thread is no reason for signals that follow at once.
    next.time = std::max(next.time, read_monotonic_time() - static_cast<std::int64_t>(period_)) +
                static_cast<std::int64_t>(period_ * (0.75 + 0.5 * draw(next)));
  }
}

}  // namespace plumb::engine
