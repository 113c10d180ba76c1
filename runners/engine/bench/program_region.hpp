// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/measure/own_clock.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/device_clock.hpp"
#include "runners/engine/bench/cache_rotation.hpp"

namespace plumb::engine {

/// Region that executes one slot of a program repeatedly, with everything hot.
class HotRegion final : public measure::TimedRegion, public measure::OwnClock {
 public:
  explicit HotRegion(worker::Program& program)
      : program_(program), device_(dynamic_cast<worker::DeviceClock*>(&program)) {}
  void run(std::size_t repetitions) override;
  [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
  [[nodiscard]] measure::OwnSample own_sample() override;

 private:
  worker::Program& program_;
  worker::DeviceClock* device_;  // the program, if it has a clock
};

/// Region that executes the next of several slots each time, so that their buffers are cold.
class RotatingRegion final : public measure::TimedRegion, public measure::OwnClock {
 public:
  /// Keeps references to `program` and `flush`. `flush` may be null if the slots are a ring large
  /// enough by themselves. Otherwise it runs before each pass over the slots. With `warm`, slot 0
  /// is executed once after each flush to warm what the slots share. Activations are then refreshed
  /// before every sample. A device with a clock of its own does both before each sample.
  RotatingRegion(worker::Program& program,
                 std::vector<std::size_t> slots,
                 CacheFlush* flush,
                 bool warm);
  void run(std::size_t repetitions) override;
  void before_sample() override;
  [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
  [[nodiscard]] measure::OwnSample own_sample() override;

 private:
  worker::Program& program_;
  worker::DeviceClock* device_;  // the program, if it has a clock
  std::vector<std::size_t> slots_;
  CacheFlush* flush_;
  bool warm_;
  std::size_t next_ = 0;
};

}  // namespace plumb::engine
