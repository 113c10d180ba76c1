// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// Observer of a device during blocks of measurement.
class BlockMonitor {
 public:
  /// Observations of a device while a block was measured on it.
  struct Block {
    results::Readings readings;
    bool disturbed = false;  ///< the device was held back: the block must be measured again
    std::string fault;  ///< the device's error, which invalidates all later results; empty: none
  };

  virtual ~BlockMonitor() = default;
  virtual void begin() = 0;
  /// Ends the observation that begin() started.
  [[nodiscard]] virtual Block end() = 0;
};

/// Appends one block of samples to those of a row. The summary stays as it is.
void append_block(const results::Measurement& block, results::Measurement& row);

/// Adds one block of samples to those of a row. The first quiet block discards the disturbed blocks
/// before it, and disturbed blocks after it are ignored. The summary stays as it is.
void add_block(const results::Measurement& block, results::Measurement& row);

/// Function that returns how long a fixed piece of work takes now. It is injected, so that tests
/// can script it.
using HostPaceSource = std::function<Seconds()>;

/// Returns a source that measures with the steady clock.
[[nodiscard]] HostPaceSource host_pace_source();

/// Timer of blocks of measurement, which fills their rows with samples, the process's harness
/// overhead and the disturbance of each block.
///
/// A disturbed block is measured again, up to the attempts allowed. After three blocks in a row
/// that stayed disturbed, each block gets one attempt until a quiet one is seen. So a host that is
/// never quiet does not multiply the time.
class LayerTiming {
 public:
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
  class HotRegion final : public measure::TimedRegion, public measure::TimedRegion::OwnClock {
   public:
    explicit HotRegion(worker::Program& program)
        : program_(program), device_(dynamic_cast<worker::Program::DeviceClock*>(&program)) {}
    void run(std::size_t repetitions) override;
    [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
    [[nodiscard]] measure::TimedRegion::OwnClock::Sample own_sample() override;

   private:
    worker::Program& program_;
    worker::Program::DeviceClock* device_;  // the program, if it has a clock
  };

  /// Region that executes the next of several slots each time, so that their buffers are cold.
  class ColdRegion final : public measure::TimedRegion, public measure::TimedRegion::OwnClock {
   public:
    /// Keeps references to `program` and `flush`. `flush` may be null if the slots are a ring large
    /// enough by themselves. Otherwise it runs before each pass over the slots. With `warm`, slot 0
    /// is executed once after each flush to warm what the slots share. Activations are then
    /// refreshed before every sample. A device with a clock of its own does both before each
    /// sample.
    ColdRegion(worker::Program& program,
               std::vector<std::size_t> slots,
               CacheFlush* flush,
               bool warm);
    void run(std::size_t repetitions) override;
    void before_sample() override;
    [[nodiscard]] bool has_clock() const override { return device_ != nullptr; }
    [[nodiscard]] measure::TimedRegion::OwnClock::Sample own_sample() override;

   private:
    worker::Program& program_;
    worker::Program::DeviceClock* device_;  // the program, if it has a clock
    std::vector<std::size_t> slots_;
    CacheFlush* flush_;
    bool warm_;
    std::size_t next_ = 0;
  };

  /// Plan for running a program with cold buffers.
  ///
  /// With `flush`, `slots` slots are bound beside slot 0, and each is used once after a flush.
  /// Without, `slots` (slot 0 among them) are a ring of at least twice the cache. So a slot is cold
  /// again when its turn comes.
  struct Rotation {
    /// Costs of making buffers cold, for one program on this machine.
    struct Costs {
      Bytes slot;           ///< what rotates: a slot's weights, or all of its operands
      Bytes cache;          ///< size of the last level, which must lose its content
      Bytes memory;         ///< limit for all slots
      Seconds bind{};       ///< to bind one more slot
      Seconds flush{};      ///< to flush the whole cache
      Seconds execution{};  ///< of the program, once
      Seconds wall{};       ///< limit for binding, flushes and executions
    };

    std::size_t slots = 1;
    bool flush = true;
    std::size_t samples = 7;
    auto operator<=>(const Rotation&) const = default;
  };

  /// Fixed piece of work that shows whether another guest shares the core. It consists of additions
  /// in independent chains, which take every instruction slot of the core.
  ///
  /// A virtual machine is not told when a neighbour runs on the other hardware thread of its core.
  /// No time is stolen and no task waits. But code that is bound by throughput takes a third longer
  /// or more. The neighbour takes every second slot, whatever it does, so that these additions
  /// take 1.5 to 1.8 times as long. Floating-point work and reads of a cache show it less, because
  /// the neighbour may use other units of the core.
  class Pace {
   public:
    explicit Pace(measure::Clock clock) : clock_(std::move(clock)) {}
    /// Does the work four times and returns the median. Takes about 30 µs.
    [[nodiscard]] Seconds measure();

   private:
    measure::Clock clock_;
    std::uint64_t sum_ = 0;  // result of the work, so that the compiler cannot remove it
  };

  /// Cost of the harness itself, in two parts. One part is per sample (clock, synchronisation), the
  /// other per execution (the call).
  struct Overhead {
    Seconds sample{};
    Seconds execution{};

    /// Returns the cost per execution, for samples of `repetitions` executions.
    [[nodiscard]] Seconds at(std::size_t repetitions) const {
      return execution + sample / static_cast<double>(repetitions == 0 ? 1 : repetitions);
    }
  };

  /// Keeps the sources that each block reads.
  ///
  /// - `monitor`, which must outlive this, observes the device during each block.
  /// - `pace`, if given, is read before and after each block, except races and blocks with a
  ///   device's clock. A slow pace against the fastest known one makes the block disturbed. Before
  ///   a block, a slow host is waited for.
  explicit LayerTiming(
      measure::Clock clock = measure::steady_clock(),
      measure::DisturbanceSource disturbance = [] { return measure::read_disturbance(); },
      BlockMonitor* monitor = nullptr,
      HostPaceSource pace = {});

  /// Takes the fastest pace that other processes of the run saw. A process that a neighbour slows
  /// down from its start cannot know it.
  void know_pace(std::optional<Seconds> fastest);

  /// Measures a block and fills the row, whose key, variant, cache and purpose must be set.
  ///
  /// Fills samples, repetitions, summary, harness overhead, disturbance, attempt and start time.
  /// The outcome is
  ///
  /// - kUnstable, except in races, if the interval's half width is above kUnstableAbove or there is
  ///   only one sample
  /// - kCrashed after a fault of the device, which the attribute kDeviceFault names
  ///
  /// What the monitor read becomes the row's readings. Of races, which take milliseconds each, it
  /// watches one in kRaceWatch, and the others have no readings: a reading of a GPU takes 10 ms.
  /// With a device's clock the overhead is 0.
  void time(measure::TimedRegion& region,
            const measure::SamplingPlan& plan,
            std::int64_t attempts,
            results::Measurement& row);

  /// Measures one turn beside another worker, and adds it to the row. It is taken as it comes: a
  /// turn that waited for a quiet host, or was repeated, would be no neighbour of the other
  /// worker's.
  ///
  /// Fills what time() does but summary and outcome, and the turn's median in `turns`. The outcome
  /// changes after a fault of the device only.
  void add_turn(measure::TimedRegion& region,
                const measure::SamplingPlan& plan,
                results::Measurement& row);

  /// Measures `turns` turns with a plan that is divided over them, and awaits each of them. Fills
  /// what time() does, over all turns.
  void time_in_turns(measure::TimedRegion& region,
                     const measure::SamplingPlan& plan,
                     std::size_t turns,
                     const std::function<void()>& await_turn,
                     results::Measurement& row);

  /// Does work that times itself, once. A slow host is waited for before. Fills the row's
  /// disturbance, and the pace among its readings. No device is observed.
  void watch(const std::function<void()>& work, results::Measurement& row);

  [[nodiscard]] const measure::Clock& clock() const { return clock_; }
  /// Returns the harness overhead, measured at the first call.
  [[nodiscard]] const Overhead& floor();

  static constexpr double kUnstableAbove = 0.10;
  static constexpr Seconds kMinWaiting{0.1};
  static constexpr double kWaitingShare = 0.2;
  static constexpr Seconds kRaceWatch{0.1};

 private:
  measure::Clock clock_;
  measure::DisturbanceSource disturbance_;
  BlockMonitor* monitor_;
  HostPaceSource pace_;
  /// Waits until the host is at its pace and returns the pace. All waiting together takes at most
  /// kMinWaiting plus kWaitingShare of this object's age.
  [[nodiscard]] Seconds quiet_pace();
  /// Does work and fills what a row has beside it: the disturbance and the readings, with the pace
  /// if `paced`, and with those of the monitor if `watched`. Returns the device's fault; empty:
  /// none.
  [[nodiscard]] std::string watch_block(const std::function<void()>& work,
                                        bool paced,
                                        bool watched,
                                        results::Measurement& row);

  std::optional<Seconds> fastest_pace_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Seconds waited_{};
  bool floor_known_ = false;
  Overhead floor_;
  int stayed_disturbed_ = 0;        // consecutive disturbed blocks
  std::optional<Seconds> watched_;  // when the monitor read last, by clock_
};

/// Chooses the largest number of samples (31, 15, 11 or 7) that fits into `wall`. Each number is
/// priced with the cheaper of ring and flushes. If none fits, returns the cheaper plan with 7
/// samples. Takes at most 1,024 slots, and at most `memory` unless one slot alone exceeds it. Pure.
[[nodiscard]] LayerTiming::Rotation plan_rotation(const LayerTiming::Rotation::Costs& costs);

/// Measures the overhead with an empty program on the path that every program takes. Times samples
/// of 1 and of 1,024 executions and splits their medians. Takes about a millisecond.
[[nodiscard]] LayerTiming::Overhead measure_floor(const measure::Clock& clock);

/// Returns kUnstable and the reason if the median's interval is too wide or there is only one
/// sample. Too wide means a half width above kUnstableAbove.
[[nodiscard]] results::Outcome judge_stability(const measure::SampleSummary& summary);

}  // namespace plumb::engine
