// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/measure/own_clock.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/device_clock.hpp"
#include "runners/engine/cache_rotation.hpp"

namespace plumb {

/// Runs one slot of a program again and again: everything hot.
class HotRegion final : public TimedRegion, public OwnClock {
 public:
  explicit HotRegion(Program& program)
      : program_(program), device_(dynamic_cast<DeviceClock*>(&program)) {}
  void run(std::size_t repetitions) override;
  [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
  [[nodiscard]] OwnSample own_sample() override;

 private:
  Program& program_;
  DeviceClock* device_;  // the program, if it has a clock
};

/// Runs each execution on the next of some slots, so that what they hold is cold.
class RotatingRegion final : public TimedRegion, public OwnClock {
 public:
  /// `flush` may be null: the slots are a ring large enough by themselves. With it, it runs before
  /// each pass over the slots. With `warm`, slot 0 is then executed once, so that what all slots
  /// share is warm again, and activations are handed on before every sample. Keeps references.
  RotatingRegion(Program& program, std::vector<std::size_t> slots, CacheFlush* flush, bool warm);
  void run(std::size_t repetitions) override;
  void before_sample() override;
  [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
  [[nodiscard]] OwnSample own_sample() override;

 private:
  Program& program_;
  DeviceClock* device_;  // the program, if it has a clock
  std::vector<std::size_t> slots_;
  CacheFlush* flush_;
  bool warm_;
  std::size_t next_ = 0;
};

}  // namespace plumb
