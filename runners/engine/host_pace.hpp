// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Returns how long a fixed piece of work takes now; injected, so that tests can script it.
using HostPaceSource = std::function<Seconds()>;

/// A fixed piece of work that shows whether somebody shares the core: multiplications that keep
/// the floating-point units busy, then reads that keep the second-level cache busy.
///
/// A virtual machine is not told when a neighbour runs on the other hardware thread of its core: no
/// time is stolen, no task waits, and code that is bound by throughput takes a third longer. What
/// is read lies in a huge page, so that each process finds it in the same cache sets.
class HostPace {
 public:
  explicit HostPace(Clock clock);
  /// Repeats the work a few times, a tenth of a millisecond in all, and returns the fastest time.
  [[nodiscard]] Seconds measure();

 private:
  Clock clock_;
  std::vector<float> lanes_;
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float[], Free> walked_;
};

/// Returns a source that measures with the steady clock.
[[nodiscard]] HostPaceSource host_pace_source();

}  // namespace plumb
