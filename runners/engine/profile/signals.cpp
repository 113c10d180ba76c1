// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/signals.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <list>
#include <mutex>
#include <string>
#include <thread>

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

void SignalSender::RunningShare::begin() noexcept {
  ran_.store(read_running_time(thread_), std::memory_order_relaxed);
  passed_.store(read_monotonic_time(), std::memory_order_relaxed);
}

bool SignalSender::RunningShare::look() noexcept {
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
    due_.push_back(
        {targets[i], SignalSender::RunningShare(targets[i].thread), RandomStream(seed, i), 0, 0});
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

namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kThreadStart{100};  // in which a new thread blocks all signals
constexpr int kAttempts = 3;  // the first sets the stack, the next finds it

/// Returns what a handler needs beside the registers that the kernel saves.
std::size_t least_stack() {
  constexpr std::size_t kHandler = 8192;
  return static_cast<std::size_t>(std::max(::sysconf(_SC_MINSIGSTKSZ), 0L)) + kHandler;
}

enum class Answer { kNone, kSet, kPresent };

/// Alternate stack of one thread. The next page below it cannot be written.
class SignalStack {
 public:
  SignalStack() : least_(least_stack()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t pages = (2 * least_ + page - 1) / page;
    void* const memory = ::mmap(nullptr,
                                (pages + 1) * page,
                                PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                                -1,
                                0);
    if (memory == MAP_FAILED || ::mprotect(memory, page, PROT_NONE) != 0) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("timer: a stack for signals: {}", std::strerror(errno)));
    }
    stack_.ss_sp = static_cast<std::byte*>(memory) + page;
    stack_.ss_size = pages * page;
  }

  /// Sets the stack that a thread has after its signal, unless it has one. Async-signal-safe.
  void set(stack_t& current) noexcept {
    if ((current.ss_flags & SS_DISABLE) == 0 && current.ss_size >= least_) {
      answer_ = Answer::kPresent;
      return;
    }
    current = stack_;
    answer_ = Answer::kSet;
  }
  void forget_answer() noexcept { answer_ = Answer::kNone; }
  [[nodiscard]] Answer answer() const noexcept { return answer_; }

 private:
  std::size_t least_;
  stack_t stack_{};
  std::atomic<Answer> answer_{Answer::kNone};
};

static_assert(std::atomic<Answer>::is_always_lock_free);

bool is_alive(pid_t thread) {
  return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0;
}

/// Returns whether a thread blocks a signal. False if that is unknown.
bool blocks(pid_t thread, int signal) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  for (std::string name; status >> name;) {
    if (name == "SigBlk:") {
      std::uint64_t blocked = 0;
      status >> std::hex >> blocked;
      return (blocked >> static_cast<unsigned>(signal - 1) & 1U) != 0;
    }
  }
  return false;
}

/// Waits until a thread takes a signal, or for too long. Returns whether it does.
bool takes(pid_t thread, int signal, std::chrono::steady_clock::time_point end) {
  while (blocks(thread, signal)) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Stacks by thread. One whose thread has ended serves another thread, and none is ever unmapped,
/// because a library's threads may outlive whoever signals them.
class StackPool {
 public:
  SignalStack& of(pid_t thread) {
    auto entry = std::find_if(
        entries_.begin(), entries_.end(), [&](const Entry& each) { return each.thread == thread; });
    if (entry == entries_.end()) {
      entry = std::find_if(entries_.begin(), entries_.end(), [](const Entry& each) {
        return !is_alive(each.thread);
      });
    }
    if (entry == entries_.end()) {
      entry = entries_.emplace(entries_.end());
    }
    entry->thread = thread;
    return entry->stack;
  }

 private:
  struct Entry {
    pid_t thread = 0;
    SignalStack stack;
  };
  std::list<Entry> entries_;
};

/// Sets the stack of the thread that it interrupts: the kernel reads it back from the context.
void on_signal(int /*number*/, siginfo_t* signal, void* context) {
  if (signal->si_code == SI_QUEUE && signal->si_pid == ::getpid()) {
    static_cast<SignalStack*>(signal->si_value.sival_ptr)
        ->set(static_cast<ucontext_t*>(context)->uc_stack);
  }
}

/// Sends a thread the signal that sets its stack. Returns the answer; kNone: it has ended.
Answer ask(pid_t thread, SignalStack& stack, int number) {
  stack.forget_answer();
  siginfo_t signal{};
  signal.si_signo = number;
  signal.si_code = SI_QUEUE;
  signal.si_pid = ::getpid();
  signal.si_uid = ::getuid();
  signal.si_value.sival_ptr = &stack;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, number, &signal) != 0) {
    if (errno == ESRCH) {
      return Answer::kNone;
    }
    throw Error(Error::Kind::kEnvironment,
                fmt::format("timer: a signal to thread {}: {}", thread, std::strerror(errno)));
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (stack.answer() == Answer::kNone && is_alive(thread)) {
    if (std::chrono::steady_clock::now() > end) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format(
              "timer: thread {} took no signal within {} s, so it cannot be interrupted safely",
              thread,
              kPatience.count()));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return stack.answer();
}

/// Returns whether the thread has an alternate stack now. False: it has ended.
bool give_stack(pid_t thread, SignalStack& stack, int signal) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Answer answer = ask(thread, stack, signal);
    if (answer != Answer::kSet) {
      return answer == Answer::kPresent;
    }
  }
  throw Error(
      Error::Kind::kEnvironment,
      fmt::format("timer: thread {} does not keep a stack for signals, so an interruption might "
                  "overwrite its data",
                  thread));
}

}  // namespace

void set_signal_handler(int signal, SignalHandler handler, int flags) noexcept {
  struct sigaction action {};
  action.sa_flags = SA_RESTART | flags;
  if (handler == nullptr) {
    action.sa_handler = SIG_IGN;  // a signal may be on its way, and the default would end us
  } else {
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = handler;
  }
  ::sigaction(signal, &action, nullptr);
}

std::vector<pid_t> give_signal_stacks(const std::vector<pid_t>& threads, int signal) {
#ifdef __SANITIZE_THREAD__
  set_signal_handler(signal, nullptr);
  return threads;  // its runtime calls handlers later, from a copy of the context
#else
  static std::mutex mutex;
  static StackPool pool;
  const std::lock_guard lock(mutex);
  std::vector<pid_t> given;
  const auto end = std::chrono::steady_clock::now() + kThreadStart;
  set_signal_handler(signal, &on_signal);
  try {
    for (const pid_t thread : threads) {
      if (takes(thread, signal, end) && give_stack(thread, pool.of(thread), signal)) {
        given.push_back(thread);
      }
    }
  } catch (...) {
    set_signal_handler(signal, nullptr);
    throw;
  }
  set_signal_handler(signal, nullptr);
  return given;
#endif
}

}  // namespace plumb::engine
