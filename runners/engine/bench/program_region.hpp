// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/device_clock.hpp"

namespace plumb::engine {

/// Costs of making buffers cold, for one program on this machine.
struct RotationCosts {
  Bytes slot;           ///< what rotates: a slot's weights, or all of its operands
  Bytes cache;          ///< size of the last level, which must lose its content
  Bytes memory;         ///< limit for all slots
  Seconds bind{};       ///< to bind one more slot
  Seconds flush{};      ///< to flush the whole cache
  Seconds execution{};  ///< of the program, once
  Seconds wall{};       ///< limit for binding, flushes and executions
};

/// Plan for running a program with cold buffers.
///
/// With `flush`, `slots` slots are bound beside slot 0, and each is used once after a flush.
/// Without, `slots` (slot 0 among them) are a ring of at least twice the cache. So a slot is cold
/// again when its turn comes.
struct Rotation {
  std::size_t slots = 1;
  bool flush = true;
  std::size_t samples = 7;
  auto operator<=>(const Rotation&) const = default;
};

/// Chooses the largest number of samples (31, 15, 11 or 7) that fits into `wall`. Each number is
/// priced with the cheaper of ring and flushes. If none fits, returns the cheaper plan with 7
/// samples. Takes at most 1,024 slots, and at most `memory` unless one slot alone exceeds it. Pure.
[[nodiscard]] Rotation plan_rotation(const RotationCosts& costs);

/// Flush of the last-level cache, by streaming over memory of twice its size.
class CacheFlush {
 public:
  /// Prepares a flush of `cache` bytes. `sweep` writes over that many bytes of a device's memory.
  /// If it is empty, the host's memory is read.
  explicit CacheFlush(Bytes cache, std::function<void(Bytes)> sweep = {})
      : cache_(cache), sweep_(std::move(sweep)) {}
  /// Flushes the cache. The first call also allocates and touches the memory. Throws
  /// std::bad_alloc.
  void run();
  /// Returns how long one run takes, measured at the first call. Throws std::bad_alloc.
  [[nodiscard]] Seconds cost();
  [[nodiscard]] Bytes cache() const { return cache_; }
  [[nodiscard]] bool on_device() const { return static_cast<bool>(sweep_); }

 private:
  Bytes cache_;
  std::function<void(Bytes)> sweep_;
  std::vector<std::uint64_t> memory_;
  std::uint64_t sum_ = 0;
  Seconds cost_{};
};

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
