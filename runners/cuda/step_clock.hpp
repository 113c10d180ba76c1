// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "runners/cuda/driver/device_graph.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Clock of the steps of one execution, by events that are nodes of a graph. One captured graph
/// executes the steps one after the other, with an event after each. Between events that are put
/// into an idle stream, small kernels would wait for their launches, and that would be timed.
class StepClock {
 public:
  /// Captures the launches, which have been executed before. `stream` must be idle, and must
  /// outlive the clock like the driver and what the launches use.
  StepClock(const Driver& driver,
            const DeviceStream& stream,
            std::span<const DeviceLaunch> launches);

  /// Executes the steps once, waits, and returns the time of each in order. What two events cost
  /// with nothing between them is subtracted. Empty: the steps cannot be captured.
  [[nodiscard]] std::vector<Seconds> sample();

  /// Returns why the steps cannot be captured. Empty: they can.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  const Driver& driver_;
  const DeviceStream& stream_;
  std::vector<DeviceEvent> events_;  // two before the first step, one after each
  std::optional<DeviceGraph> graph_;
  std::string refusal_;
};

}  // namespace plumb::cuda
