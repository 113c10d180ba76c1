// SPDX-License-Identifier: Apache-2.0
#include "harness/base/limited_call.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

std::atomic<std::int64_t> limit_ms{0};  // 0: no limit

const int kSignal = SIGRTMIN + 3;

/// Timer of one thread's processor time, with the message of the call in progress.
class ThreadTimer {
 public:
  ThreadTimer() {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = kSignal;
    event.sigev_value.sival_ptr = this;
    if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) {
      throw Error(
          Error::Kind::kEnvironment,
          "cannot create a timer for library calls: " + std::generic_category().message(errno));
    }
  }
  ~ThreadTimer() { ::timer_delete(timer_); }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;
  ThreadTimer(ThreadTimer&&) = delete;
  ThreadTimer& operator=(ThreadTimer&&) = delete;

  void begin(std::string_view what, std::int64_t limit) {
    // The message is written by a signal handler, which can neither allocate nor format.
    std::string name(what.substr(0, 300));
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    const std::string text =
        "\nerror: " + name + " did not end within " + std::to_string(limit) +
        " ms of processor time; the input cannot be used: correct it, or leave it out\n";
    length_ = std::min(text.size(), message_.size());
    std::copy_n(text.begin(), length_, message_.begin());
    set(limit);
  }
  void end() { set(0); }

  [[noreturn]] void expire() const {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message_.data(), length_);
    ::_exit(static_cast<int>(Error::Kind::kUser));
  }

 private:
  void set(std::int64_t milliseconds) {
    itimerspec spec{};
    spec.it_value.tv_sec = milliseconds / 1000;
    spec.it_value.tv_nsec = milliseconds % 1000 * 1'000'000;
    ::timer_settime(timer_, 0, &spec, nullptr);
  }

  timer_t timer_{};
  std::array<char, 512> message_{};
  std::size_t length_ = 0;
};

void on_expiry(int, siginfo_t* info, void*) {
  if (info->si_code == SI_TIMER) {
    static_cast<const ThreadTimer*>(info->si_value.sival_ptr)->expire();
  }
}

ThreadTimer& thread_timer() {
  static thread_local ThreadTimer timer;
  return timer;
}

}  // namespace

LimitedCall::LimitedCall(std::string_view what) {
  if (const std::int64_t limit = limit_ms.load(std::memory_order_relaxed); limit > 0) {
    thread_timer().begin(what, limit);
  }
}

LimitedCall::~LimitedCall() {
  if (limit_ms.load(std::memory_order_relaxed) > 0) {
    thread_timer().end();
  }
}

void limit_calls(std::chrono::milliseconds limit) {
  struct sigaction action {};
  action.sa_sigaction = on_expiry;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(kSignal, &action, nullptr);
  limit_ms.store(limit.count());
}

}  // namespace plumb
