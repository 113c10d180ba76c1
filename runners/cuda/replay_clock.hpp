// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/device_clock.hpp"
#include "runners/cuda/device_graph.hpp"

namespace plumb::cuda {

/// Times executions by the GPU's own clock (docs/design/cuda.md): N and 2N of them captured as
/// graphs, each between two events; the difference by N. What a launch costs falls out.
class ReplayClock {
 public:
  /// `enqueue` puts one execution of a slot into the stream.
  ReplayClock(const Driver& driver,
              const DeviceStream& stream,
              std::function<void(std::size_t slot)> enqueue);

  /// Takes one sample over the slots in turn. The first for these slots chooses N so that N last at
  /// least a millisecond, and captures. What cannot be captured is put into the stream N times
  /// between two events instead, and refusal() says why.
  [[nodiscard]] DeviceSample sample(std::span<const std::size_t> slots);

  /// Times one execution between two events: for what is cold only once.
  [[nodiscard]] DeviceSample sample_once(std::size_t slot);

  /// Executes the slots in turn as a sample does, without timing; returns how many executions.
  [[nodiscard]] std::size_t replay(std::span<const std::size_t> slots);

  /// Marks all captured graphs as outdated, because addresses have changed. Each is captured again
  /// at its next use. Its graphs are updated where the driver can.
  void clear();
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  struct Replay {
    std::size_t executions = 1;
    std::optional<DeviceGraph> once;
    std::optional<DeviceGraph> twice;
    bool outdated = false;  // of addresses that are no longer
  };

  const Replay& replay_of(std::span<const std::size_t> slots);
  [[nodiscard]] Replay prepared(std::span<const std::size_t> slots);
  void capture(std::span<const std::size_t> slots, Replay& replay);
  [[nodiscard]] Seconds timed(const std::function<void()>& work);
  void enqueue_in_turn(std::span<const std::size_t> slots, std::size_t executions);

  const Driver& driver_;
  const DeviceStream& stream_;
  std::function<void(std::size_t)> enqueue_;
  DeviceEvent begin_;
  DeviceEvent end_;
  std::map<std::vector<std::size_t>, Replay> replays_;
  std::string refusal_;
};

/// Chooses how many executions a replay has: as many as last `wanted`, whole turns of `slots`, at
/// most `most` unless one turn is more. Pure.
[[nodiscard]] std::size_t executions_for(Seconds one,
                                         Seconds wanted,
                                         std::size_t slots,
                                         std::size_t most);

}  // namespace plumb::cuda
