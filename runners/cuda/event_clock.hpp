// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/run.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_library.hpp"

namespace plumb::cuda {

/// Clock that times executions by the GPU's own events (docs/design/cuda.md). It captures N and 2N
/// executions as two graphs, and launches each between two events. The difference of the two times,
/// divided by N, is the time of one execution. What a launch costs cancels out.
class EventClock {
 public:
  /// Clock of the steps of one execution, by events that are nodes of a graph. One captured graph
  /// executes the steps one after the other, with an event after each. Between events that are put
  /// into an idle stream, small kernels would wait for their launches, and that would be timed.
  class Steps {
   public:
    /// Captures the launches, which have been executed before. `stream` must be idle, and must
    /// outlive the clock like the driver and what the launches use.
    Steps(const Driver& driver, const DeviceStream& stream, std::span<const DeviceLaunch> launches);

    /// Executes the steps once, waits, and returns the time of each in order. What two events cost
    /// with nothing between them is subtracted. Empty: the steps cannot be captured.
    [[nodiscard]] std::vector<Seconds> sample();

    /// Returns why the steps cannot be captured. Empty: they can.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

   private:
    const Driver& driver_;
    const DeviceStream& stream_;
    std::vector<DeviceStream::Event> events_;  // two before the first step, one after each
    std::optional<DeviceStream::Graph> graph_;
    std::string refusal_;
  };

  /// Takes `enqueue`, which puts one execution of a slot into the stream. Driver and stream must
  /// outlive the clock.
  EventClock(const Driver& driver,
             const DeviceStream& stream,
             std::function<void(std::size_t slot)> enqueue);

  /// Takes one sample over the slots in turn. The first sample of these slots chooses N so that N
  /// executions last at least a millisecond, within a limit on N, and captures the graphs. What
  /// cannot be captured is put into the stream N times between two events instead, and refusal()
  /// says why.
  [[nodiscard]] worker::Program::DeviceClock::Sample sample(std::span<const std::size_t> slots);

  /// Times one execution between two events, for caches that are cold only once. `before` puts
  /// work into the stream that is not timed. While the GPU does it, the execution is put behind it,
  /// so that waiting for a launch is not timed either.
  [[nodiscard]] worker::Program::DeviceClock::Sample sample_once(
      std::size_t slot, const std::function<void()>& before);

  /// Executes the slots in turn as a sample does, without timing. Returns the number of executions.
  [[nodiscard]] std::size_t replay(std::span<const std::size_t> slots);

  /// Marks all captured graphs as outdated, because addresses have changed. Each is captured again
  /// at its next use, and the old graph is updated where the driver can do that.
  void clear();
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  struct Replay {
    std::size_t executions = 1;
    std::optional<DeviceStream::Graph> once;
    std::optional<DeviceStream::Graph> twice;
    bool outdated = false;  // captured with addresses that have changed
  };

  const Replay& find_replay(std::span<const std::size_t> slots);
  [[nodiscard]] Replay prepared(std::span<const std::size_t> slots);
  void capture(std::span<const std::size_t> slots, Replay& replay);
  [[nodiscard]] worker::Program::DeviceClock::Sample timed_replay(
      std::span<const std::size_t> slots, const Replay& replay);
  [[nodiscard]] Seconds timed(const std::function<void()>& work);
  void enqueue_in_turn(std::span<const std::size_t> slots, std::size_t executions);

  const Driver& driver_;
  const DeviceStream& stream_;
  std::function<void(std::size_t)> enqueue_;
  DeviceStream::Event begin_;
  DeviceStream::Event end_;
  std::map<std::vector<std::size_t>, Replay> replays_;
  std::string refusal_;
};

/// Returns how many executions a replay has: as many as last `wanted`, but at most `most`. The
/// number is then rounded up to whole turns of `slots`. Pure.
[[nodiscard]] std::size_t executions_for(Seconds one,
                                         Seconds wanted,
                                         std::size_t slots,
                                         std::size_t most);

/// Times empty pairs of events, one pair after another. Such a time is what every pair shows in
/// excess.
[[nodiscard]] std::vector<Seconds> empty_event_pairs(const DeviceStream& stream,
                                                     const Driver& driver,
                                                     std::size_t count);

/// Returns the smallest difference between two of the times, which is the step of their clock.
/// Differences up to a picosecond are rounding and do not count. Absent: all are equal. Pure.
[[nodiscard]] std::optional<Seconds> smallest_step(std::vector<Seconds> times);

/// Times launches of a graph of `nodes` null kernels, each between two events. The null kernel is
/// the smallest built-in one. Throws Unsupported where there is no compiler for it.
[[nodiscard]] std::vector<Seconds> null_graph_times(const Device::Context& context,
                                                    const DeviceStream& stream,
                                                    KernelLibrary& kernels,
                                                    std::size_t nodes,
                                                    std::size_t samples);

/// Measures the timer of this GPU, and returns the results as facts. "measure.event_tick_seconds"
/// is its step, "measure.event_pair_seconds" the median of an empty pair of events.
/// "measure.null_graph_seconds" is the median of a graph of one null kernel, and
/// "measure.null_graph_node_seconds" the slope to graphs of many. Takes some tens of milliseconds.
[[nodiscard]] results::Facts event_timer_facts(const Device::Context& context);

}  // namespace plumb::cuda
