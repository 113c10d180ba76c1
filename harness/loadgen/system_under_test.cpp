// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/system_under_test.hpp"

#include <algorithm>
#include <thread>

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr auto kSpinBeforeDeadline = 200us;
constexpr auto kSpinForCompletion = 20us;
constexpr std::chrono::nanoseconds kLongestSleep = 1h;  // far below what overflows a system's clock

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class SteadyLoadClock final : public LoadClock {
 public:
  [[nodiscard]] Nanoseconds now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  Nanoseconds wait_until(Nanoseconds deadline) override {
    Nanoseconds time = now();
    while (deadline - time > kSpinBeforeDeadline) {
      std::this_thread::sleep_for(std::min(deadline - time - kSpinBeforeDeadline, kLongestSleep));
      time = now();
    }
    for (; time < deadline; time = now()) {
      relax();
    }
    return time;
  }

  bool wait_for(LoadClock::CompletionCount& count,
                std::uint64_t target,
                Nanoseconds deadline) override {
    if (count.value() >= target) {
      return true;
    }
    Nanoseconds time = now();
    for (const Nanoseconds spin_end = time + kSpinForCompletion; time < spin_end; time = now()) {
      if (count.value() >= target) {
        return true;
      }
      relax();
    }
    for (; count.value() < target && time < deadline; time = now()) {
      count.sleep_until_at_least(target, std::min(deadline - time, kLongestSleep));
    }
    return count.value() >= target;
  }
};

}  // namespace

std::unique_ptr<LoadClock> make_steady_load_clock() {
  return std::make_unique<SteadyLoadClock>();
}

}  // namespace plumb::loadgen
