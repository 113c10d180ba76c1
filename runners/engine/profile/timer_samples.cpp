// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/timer_samples.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "runners/engine/profile/sample_ring.hpp"
#include "runners/engine/profile/signal_stacks.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

constexpr int kSignal = SIGPROF;
constexpr std::size_t kCapacity = 1U << 17U;  // samples of a thread that wait to be taken

class TimerSamples;

/// The source that the handler serves. A signal's handler gets no argument of ours.
std::atomic<TimerSamples*> active_source{nullptr};
std::atomic<int> handlers_running{0};

std::uint64_t interrupted_address(const void* context) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
#error "where is the program counter in a ucontext_t of this machine?"
#endif
}

std::int64_t read(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Timer of elapsed time, which signals to one thread, and the samples of that thread.
class TimedThread {
 public:
  /// Measures the thread with this number in the list of threads.
  TimedThread(pid_t thread, std::uint32_t number, Seconds period, RandomStream periods)
      : number_(number),
        // The kernel's number for the clock of a thread's running time.
        running_time_(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U)),
        period_(period),
        periods_(periods),
        ring_(kCapacity) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = thread;  // glibc 2.36 has no other name for it
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) {
      throw Error(Error::Kind::kEnvironment, fmt::format("timer: {}", std::strerror(errno)));
    }
  }
  ~TimedThread() { ::timer_delete(timer_); }
  TimedThread(const TimedThread&) = delete;
  TimedThread& operator=(const TimedThread&) = delete;
  TimedThread(TimedThread&&) = delete;
  TimedThread& operator=(TimedThread&&) = delete;

  /// Begins with a first period such that every part of what follows is as likely.
  void start() {
    ran_ = read(running_time_);
    passed_ = read(CLOCK_MONOTONIC);
    set_period(period_ * draw());
  }
  void stop() noexcept {
    const itimerspec never{};
    ::timer_settime(timer_, 0, &never, nullptr);
  }
  /// Adds a sample, unless the thread waited for most of the time. Async-signal-safe.
  void add_sample(std::uint64_t address, std::uint32_t step) noexcept {
    if (has_run()) {
      ring_.push({address, step});
    }
    set_period(period_ * (0.75 + 0.5 * draw()));
  }
  [[nodiscard]] bool has_sent(const siginfo_t& signal) const noexcept {
    return signal.si_code == SI_TIMER && signal.si_value.sival_ptr == this;
  }
  [[nodiscard]] SampleRing& ring() { return ring_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }

 private:
  /// Draws a number from 0 to 1.
  double draw() noexcept {
    constexpr std::uint64_t kSteps = 1U << 20U;
    return static_cast<double>(periods_.below(drawn_++, kSteps)) / kSteps;
  }

  void set_period(Seconds period) noexcept {
    itimerspec next{};
    // Zero would end the timer.
    const auto nanoseconds =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(period.count() * 1e9));
    next.it_value.tv_sec = nanoseconds / 1'000'000'000;
    next.it_value.tv_nsec = nanoseconds % 1'000'000'000;
    ::timer_settime(timer_, 0, &next, nullptr);
  }

  /// Returns whether the thread ran for at least half of the time since the last call.
  bool has_run() noexcept {
    constexpr double kRunning = 0.5;
    const std::int64_t ran = read(running_time_);
    const std::int64_t passed = read(CLOCK_MONOTONIC);
    const bool running =
        static_cast<double>(ran - ran_) >= kRunning * static_cast<double>(passed - passed_);
    ran_ = ran;
    passed_ = passed;
    return running;
  }

  std::uint32_t number_;
  clockid_t running_time_;
  timer_t timer_{};
  Seconds period_;
  RandomStream periods_;
  std::atomic<std::uint64_t> drawn_{0};
  SampleRing ring_;
  std::int64_t ran_ = 0;     ///< nanoseconds at the last look
  std::int64_t passed_ = 0;  ///< likewise
};

class TimerSamples final : public SampleSource {
 public:
  TimerSamples(const std::vector<pid_t>& threads,
               const SamplerOptions& options,
               const worker::StepMark& step)
      : step_(step) {
    PLUMB_CHECK(active_source == nullptr);
    const std::vector<pid_t> ready = give_signal_stacks(threads, kSignal);
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      if (std::find(ready.begin(), ready.end(), threads[i]) != ready.end()) {
        threads_.push_back(std::make_unique<TimedThread>(
            threads[i], i, Seconds(1.0 / options.rate), RandomStream(options.seed, i)));
      }
    }
    TimerSamples* none = nullptr;
    PLUMB_CHECK(active_source.compare_exchange_strong(none, this));
    set_signal_handler(kSignal, &TimerSamples::on_signal, SA_ONSTACK);
  }

  ~TimerSamples() override {
    stop_timers();
    set_signal_handler(kSignal, nullptr);
    active_source = nullptr;
    while (handlers_running != 0) {
      ::sched_yield();
    }
  }
  TimerSamples(const TimerSamples&) = delete;
  TimerSamples& operator=(const TimerSamples&) = delete;
  TimerSamples(TimerSamples&&) = delete;
  TimerSamples& operator=(TimerSamples&&) = delete;

  void start() override {
    running_ = true;
    for (const std::unique_ptr<TimedThread>& thread : threads_) {
      thread->start();
    }
  }

  void stop() override { stop_timers(); }

  void take(std::uint32_t block, results::SampledProfile& profile) override {
    for (const std::unique_ptr<TimedThread>& thread : threads_) {
      thread->ring().drain([&](const SampleRing::Sample& sample) {
        profile.samples.push_back(
            {sample.address, sample.step, block, thread->number(), results::kNoChain});
      });
    }
  }

  [[nodiscard]] std::uint64_t lost() const override {
    std::uint64_t lost = 0;
    for (const std::unique_ptr<TimedThread>& thread : threads_) {
      lost += thread->ring().lost();
    }
    return lost;
  }

 private:
  static void on_signal(int /*number*/, siginfo_t* signal, void* context) {
    const int error = errno;
    ++handlers_running;
    TimerSamples* const source = active_source;
    if (source != nullptr && source->running_) {
      source->add_sample(*signal, interrupted_address(context));
    }
    --handlers_running;
    errno = error;
  }

  void add_sample(const siginfo_t& signal, std::uint64_t address) noexcept {
    for (const std::unique_ptr<TimedThread>& thread : threads_) {
      if (thread->has_sent(signal)) {
        thread->add_sample(address, step_.current());
        return;
      }
    }
  }

  void stop_timers() noexcept {
    running_ = false;
    for (const std::unique_ptr<TimedThread>& thread : threads_) {
      thread->stop();
    }
  }

  const worker::StepMark& step_;
  std::vector<std::unique_ptr<TimedThread>> threads_;
  std::atomic<bool> running_{false};
};

}  // namespace

std::unique_ptr<SampleSource> open_timer_samples(const std::vector<pid_t>& threads,
                                                 const SamplerOptions& options,
                                                 const worker::StepMark& step) {
  return std::make_unique<TimerSamples>(threads, options, step);
}

}  // namespace plumb::engine
