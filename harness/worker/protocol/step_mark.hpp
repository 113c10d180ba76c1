// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::worker {

/// Step that a program executes, and when its last steps began. One thread executes the steps.
class StepMark {
 public:
  using Clock = std::chrono::steady_clock;
  struct Start {
    Clock::time_point time;
    std::uint32_t step = results::kNoStep;
  };

  /// Limit of the times that are kept.
  static constexpr std::size_t kMaxStarts = std::size_t{1} << 18U;

  /// Notes that a step begins, or with results::kNoStep that none is executed. Reads a clock only
  /// while times are kept.
  void begin(std::uint32_t step) {
    current_.store(step, std::memory_order_relaxed);
    if (keeps_) {
      keep(step);
    }
  }

  /// Returns the current step. Async-signal-safe.
  [[nodiscard]] std::uint32_t current() const noexcept {
    return current_.load(std::memory_order_relaxed);
  }

  /// Forgets the times of before, and keeps those from now on, the first of the current step.
  /// Beyond kMaxStarts it is unknown which step is executed. Where a step begins and `interval` is
  /// over, `visit` is called.
  void keep_starts(Clock::duration interval, std::function<void()> visit) {
    starts_.clear();
    starts_.reserve(kMaxStarts);
    interval_ = interval;
    visit_ = std::move(visit);
    next_visit_ = Clock::now() + interval_;
    keeps_ = true;
    keep(current());
  }
  void end_starts() { keeps_ = false; }
  /// Returns the times that were kept, ascending.
  [[nodiscard]] std::span<const Start> starts() const { return starts_; }

 private:
  void keep(std::uint32_t step) {
    const Clock::time_point now = Clock::now();
    if (starts_.size() < kMaxStarts) {
      starts_.push_back({now, starts_.size() + 1 < kMaxStarts ? step : results::kNoStep});
    }
    if (now >= next_visit_) {
      next_visit_ = now + interval_;
      visit_();
    }
  }

  std::atomic<std::uint32_t> current_{results::kNoStep};
  bool keeps_ = false;
  std::vector<Start> starts_;
  Clock::duration interval_{};
  Clock::time_point next_visit_;
  std::function<void()> visit_;
};

}  // namespace plumb::worker
