// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/sample_source.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "runners/engine/profile/signals.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

constexpr int kSignal = SIGPROF;
constexpr std::size_t kCapacity = 1U << 17U;  // samples of a thread that wait to be taken

class SignalledSamples;

/// The source that the handler serves. A signal's handler gets no argument of ours.
std::atomic<SignalledSamples*> active_source{nullptr};
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

/// Timer of elapsed time, which signals to one thread.
class ThreadTimer {
 public:
  /// Sends `value` with each signal.
  ThreadTimer(pid_t thread, void* value, Seconds period, RandomStream periods)
      : share_(thread), period_(period), periods_(periods) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event.sigev_value.sival_ptr = value;
    event._sigev_un._tid = thread;  // glibc 2.36 has no other name for it
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) {
      throw Error(Error::Kind::kEnvironment, fmt::format("timer: {}", std::strerror(errno)));
    }
  }
  ~ThreadTimer() { ::timer_delete(timer_); }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;
  ThreadTimer(ThreadTimer&&) = delete;
  ThreadTimer& operator=(ThreadTimer&&) = delete;

  /// Begins with a first period such that every part of what follows is as likely.
  void start() {
    share_.begin();
    set_period(period_ * draw());
  }
  void stop() noexcept {
    const itimerspec never{};
    ::timer_settime(timer_, 0, &never, nullptr);
  }
  /// Sets the next period, and returns whether the thread ran in the last one. Async-signal-safe.
  [[nodiscard]] bool go_on() noexcept {
    const bool running = share_.look();
    set_period(period_ * (0.75 + 0.5 * draw()));
    return running;
  }

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

  SignalSender::RunningShare share_;
  timer_t timer_{};
  Seconds period_;
  RandomStream periods_;
  std::atomic<std::uint64_t> drawn_{0};
};

/// Thread that signals interrupt, and its samples.
class SignalledThread {
 public:
  /// Counts as the thread with this number in the list of threads.
  SignalledThread(pid_t thread, std::uint32_t number)
      : thread_(thread), number_(number), ring_(kCapacity) {}

  /// Interrupts the thread by a timer.
  void set_timer(Seconds period, RandomStream periods) {
    timer_.emplace(thread_, this, period, periods);
  }
  void start() {
    if (timer_) {
      timer_->start();
    }
  }
  void stop() noexcept {
    if (timer_) {
      timer_->stop();
    }
  }
  /// Adds a sample, unless the thread waited for most of the time. Async-signal-safe.
  void add_sample(std::uint64_t address, std::uint32_t step) noexcept {
    if (!timer_ || timer_->go_on()) {
      ring_.push({address, step});
    }
  }
  [[nodiscard]] bool is_meant(const siginfo_t& signal) const noexcept {
    return signal.si_code == (timer_ ? SI_TIMER : SI_QUEUE) && signal.si_value.sival_ptr == this;
  }
  [[nodiscard]] SampleSource::Ring& ring() { return ring_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] pid_t thread() const { return thread_; }

 private:
  pid_t thread_;
  std::uint32_t number_;
  SampleSource::Ring ring_;
  std::optional<ThreadTimer> timer_;  ///< absent: another thread sends the signals
};

class SignalledSamples final : public SampleSource {
 public:
  SignalledSamples(results::SampledProfile::Clock clock,
                   const std::vector<pid_t>& threads,
                   const SampleSource::Options& options,
                   const worker::StepMark& step)
      : step_(step) {
    PLUMB_CHECK(active_source == nullptr);
    const std::vector<pid_t> ready = give_signal_stacks(threads, kSignal);
    const Seconds period(1.0 / options.rate);
    const bool by_timer = clock == results::SampledProfile::Clock::kTimer;
    std::vector<SignalSender::Target> targets;
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      if (std::find(ready.begin(), ready.end(), threads[i]) == ready.end()) {
        continue;
      }
      threads_.push_back(std::make_unique<SignalledThread>(threads[i], i));
      if (by_timer) {
        threads_.back()->set_timer(period, RandomStream(options.seed, i));
      } else {
        targets.push_back({threads[i], threads_.back().get()});
      }
    }
    if (!by_timer) {
      sender_.emplace(targets, kSignal, period, options.seed);
    }
    SignalledSamples* none = nullptr;
    PLUMB_CHECK(active_source.compare_exchange_strong(none, this));
    set_signal_handler(kSignal, &SignalledSamples::on_signal, SA_ONSTACK);
  }

  ~SignalledSamples() override {
    stop_signals();
    set_signal_handler(kSignal, nullptr);
    active_source = nullptr;
    while (handlers_running != 0) {
      ::sched_yield();
    }
  }
  SignalledSamples(const SignalledSamples&) = delete;
  SignalledSamples& operator=(const SignalledSamples&) = delete;
  SignalledSamples(SignalledSamples&&) = delete;
  SignalledSamples& operator=(SignalledSamples&&) = delete;

  void start() override {
    running_ = true;
    for (const std::unique_ptr<SignalledThread>& thread : threads_) {
      thread->start();
    }
    if (sender_) {
      sender_->start();
    }
  }

  void stop() override { stop_signals(); }

  void take(std::uint32_t block, results::SampledProfile& profile) override {
    for (const std::unique_ptr<SignalledThread>& thread : threads_) {
      thread->ring().drain([&](const SampleSource::Ring::Sample& sample) {
        profile.samples.push_back(
            {sample.address, sample.step, block, thread->number(), results::kNoChain});
      });
    }
  }

  [[nodiscard]] std::uint64_t lost() const override {
    std::uint64_t lost = 0;
    for (const std::unique_ptr<SignalledThread>& thread : threads_) {
      lost += thread->ring().lost();
    }
    return lost;
  }

 private:
  static void on_signal(int /*number*/, siginfo_t* signal, void* context) {
    const int error = errno;
    ++handlers_running;
    SignalledSamples* const source = active_source;
    if (source != nullptr && source->running_) {
      source->add_sample(*signal, interrupted_address(context));
    }
    --handlers_running;
    errno = error;
  }

  void add_sample(const siginfo_t& signal, std::uint64_t address) noexcept {
    for (const std::unique_ptr<SignalledThread>& thread : threads_) {
      if (thread->is_meant(signal)) {
        thread->add_sample(address, step_.current());
        return;
      }
    }
  }

  void stop_signals() noexcept {
    running_ = false;
    if (sender_) {
      sender_->stop();
    }
    for (const std::unique_ptr<SignalledThread>& thread : threads_) {
      thread->stop();
    }
  }

  const worker::StepMark& step_;
  std::vector<std::unique_ptr<SignalledThread>> threads_;
  std::optional<SignalSender> sender_;  ///< absent: each thread has its timer
  std::atomic<bool> running_{false};
};

}  // namespace

std::unique_ptr<SampleSource> open_signalled_samples(results::SampledProfile::Clock clock,
                                                     const std::vector<pid_t>& threads,
                                                     const SampleSource::Options& options,
                                                     const worker::StepMark& step) {
  if (clock == results::SampledProfile::Clock::kThread && options.depth > 0) {
    throw Error(Error::Kind::kEnvironment, "thread: has no chains of calls");
  }
  const bool is_choice = options.clocks.size() > 1;  // else it is wanted whatever it costs
  if (clock == results::SampledProfile::Clock::kThread && is_choice &&
      count_processors() <= threads.size()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("thread: no processor is left beside {} threads", threads.size()));
  }
  return std::make_unique<SignalledSamples>(clock, threads, options, step);
}

}  // namespace plumb::engine
