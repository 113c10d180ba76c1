// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"

namespace plumb::measure {

/// Version of the measurement method (docs/reference/measurement.md). It is part of the
/// environment's identity. A change that can move a measured number gets a new version, so that no
/// series crosses it unseen.
inline constexpr const char* kMethodVersion = "5";

/// Code that the sampler times.
class TimedRegion {
 public:
  /// Additional interface of a TimedRegion that may have a clock of its own, such as a GPU's. With
  /// such a clock run() is not timed, and the samples contain nothing of the harness.
  class OwnClock {
   public:
    /// One sample taken by a clock other than the harness's.
    struct Sample {
      Seconds each{};
      Seconds at_most{};  ///< an execution with its share of launching, which `each` leaves out
      std::size_t repetitions = 1;
    };

    virtual ~OwnClock() = default;
    [[nodiscard]] virtual bool has_clock() const = 0;
    /// Takes a sample of as many executions as the clock needs.
    [[nodiscard]] virtual Sample own_sample() = 0;
  };

  virtual ~TimedRegion() = default;
  /// Makes `repetitions` executions and returns only when all are complete.
  virtual void run(std::size_t repetitions) = 0;
  /// Prepares a sample outside the timed part: flushes caches, rotates buffers. Called before each
  /// sample. May do nothing.
  virtual void before_sample() {}
};

/// Stopping rule of the sampler, which stops at a tight interval or at the budget. Whichever comes
/// first ends the sampling.
struct SamplingPlan {
  Seconds warm_up_at_least{0.001};
  Seconds warm_up_at_most{0.2};  ///< zero: no warm-up and one execution a sample
  Seconds budget{0.02};  ///< of timed work after the warm-up; four times this ends it in any case
  double relative_half_width = 0.005;  ///< of the median's interval
  std::size_t samples_at_least = 7;
  std::size_t samples_at_most = 2000;
  Seconds sample_at_least{20e-6};  ///< shorter executions are timed in batches that last this long
  std::size_t repetitions_at_most = 1 << 20;
};

/// Raw samples of one block, and how sampling ended.
struct Samples {
  std::vector<Seconds>
      seconds;  ///< one per sample, per execution (batch time ÷ repetitions), in time order
  std::size_t repetitions = 1;  ///< executions in each sample
  bool converged = false;       ///< the interval became tight before the budget ended
  Seconds elapsed{};            ///< all of it, warm-up included
};

/// Reader of a steady clock. It is injected, so that tests can script it.
using Clock = std::function<Seconds()>;
[[nodiscard]] Clock steady_clock();

/// Samples a region after a warm-up that lasts until executions stop getting faster. The plan is
/// met when the median's interval is tight and the minimum has company. Sampling also ends when the
/// budget or the number of samples is used up (docs/reference/measurement.md).
[[nodiscard]] Samples sample(TimedRegion& region, const SamplingPlan& plan, const Clock& clock);

/// Smallest non-zero step of a clock, and the cost of reading it.
struct TimerFacts {
  Seconds tick{};
  Seconds read{};
};
[[nodiscard]] TimerFacts measure_timer(const Clock& clock);

}  // namespace plumb::measure
