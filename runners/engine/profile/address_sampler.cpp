// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/address_sampler.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/profile/sample_ring.hpp"
#include "runners/engine/profile/thread_clock.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

constexpr int kSignal = SIGPROF;

/// The sampler that the handler serves. A signal's handler gets no argument of ours.
std::atomic<AddressSampler*> active_sampler{nullptr};
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

void set_handler(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  if (handler == nullptr) {
    action.sa_handler = SIG_IGN;  // a signal may be on its way, and the default would end us
  } else {
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = handler;
  }
  ::sigaction(kSignal, &action, nullptr);
}

/// Lists the threads of this process, the calling one first.
std::vector<pid_t> list_threads() {
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  std::vector<pid_t> threads{self};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != self) {
      threads.push_back(thread);
    }
  }
  std::sort(threads.begin() + 1, threads.end());
  return threads;
}

}  // namespace

/// One sampled thread.
struct AddressSampler::Thread {
  Thread(std::unique_ptr<ThreadClock> its_clock, std::size_t capacity, RandomStream its_periods)
      : clock(std::move(its_clock)), ring(capacity), periods(its_periods) {}

  /// Draws a period within a quarter of `mean`. Async-signal-safe.
  Seconds draw_period(double mean) noexcept { return Seconds(mean * (0.75 + 0.5 * draw())); }
  /// Draws the time to the first sample, so that every part of what follows is as likely.
  Seconds draw_first(double mean) noexcept { return Seconds(mean * draw()); }

  /// Draws a number from 0 to 1.
  double draw() noexcept {
    constexpr std::uint64_t kSteps = 1U << 20U;
    return static_cast<double>(periods.below(drawn++, kSteps)) / kSteps;
  }

  std::unique_ptr<ThreadClock> clock;
  SampleRing ring;
  RandomStream periods;
  std::atomic<std::uint64_t> drawn{0};
};

AddressSampler::AddressSampler(const SamplerOptions& options, const worker::StepMark& step)
    : step_(step), period_(1.0 / options.rate) {
  PLUMB_CHECK(options.rate > 0.0);
  attach(options);
  AddressSampler* none = nullptr;
  PLUMB_CHECK(active_sampler.compare_exchange_strong(none, this));
  set_handler(&AddressSampler::on_signal);
}

AddressSampler::~AddressSampler() {
  stop();
  set_handler(nullptr);
  active_sampler = nullptr;
  while (handlers_running != 0) {
    ::sched_yield();
  }
}

void AddressSampler::attach(const SamplerOptions& options) {
  const std::vector<pid_t> threads = list_threads();
  for (const results::SamplingClock clock : options.clocks) {
    try {
      for (std::size_t i = 0; i < threads.size(); ++i) {
        threads_.push_back(std::make_unique<Thread>(open_thread_clock(clock, threads[i], kSignal),
                                                    options.capacity,
                                                    RandomStream(options.seed, i)));
      }
      clock_ = clock;
      return;
    } catch (const Error& error) {
      threads_.clear();
      refused_ += fmt::format("{}{}", refused_.empty() ? "" : "; ", error.what());
    }
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("no clock can interrupt this process for samples: {}", refused_));
}

void AddressSampler::start() {
  running_ = true;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    thread->clock->start(thread->draw_first(period_));
  }
}

void AddressSampler::stop() {
  running_ = false;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    thread->clock->stop();
  }
}

void AddressSampler::on_signal(int /*number*/, siginfo_t* signal, void* context) {
  const int error = errno;
  ++handlers_running;
  AddressSampler* const sampler = active_sampler;
  if (sampler != nullptr && sampler->running_) {
    sampler->add_sample(*signal, interrupted_address(context));
  }
  --handlers_running;
  errno = error;
}

void AddressSampler::add_sample(const siginfo_t& signal, std::uint64_t address) noexcept {
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->clock->has_sent(signal)) {
      if (thread->clock->has_run()) {
        thread->ring.push({address, step_.load(std::memory_order_relaxed)});
      }
      thread->clock->set_period(thread->draw_period(period_));
      return;
    }
  }
}

void AddressSampler::take(std::uint32_t block, std::vector<results::AddressSample>& samples) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i]->ring.drain([&](const SampleRing::Sample& sample) {
      samples.push_back({sample.address, sample.step, block, static_cast<std::uint32_t>(i)});
    });
  }
}

std::uint64_t AddressSampler::lost() const {
  std::uint64_t lost = 0;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    lost += thread->ring.lost();
  }
  return lost;
}

}  // namespace plumb::engine
