// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "runners/cuda/driver/captured_graph.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/driver/graph_abi.hpp"

namespace plumb::cuda {

/// Owner of a captured graph, instantiated and uploaded. One launch executes all that was captured.
class DeviceGraph {
 public:
  /// Captures `work` as CapturedGraph does. `before` is an earlier graph of the same kernels
  /// elsewhere in memory, which the GPU has finished. With `before`, that graph is updated. Where
  /// the driver refuses, a new one is instantiated, and refusal() says why.
  DeviceGraph(const Driver& driver,
              const DeviceStream& stream,
              const std::function<void()>& work,
              std::optional<DeviceGraph> before = std::nullopt);
  ~DeviceGraph();
  DeviceGraph(DeviceGraph&& other) noexcept;
  DeviceGraph& operator=(DeviceGraph&&) = delete;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  void launch(abi::Stream stream) const;
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  const Driver& driver_;
  abi::GraphExecutable executable_ = nullptr;
  std::size_t nodes_ = 0;
  std::string refusal_;
};

/// Returns in words why the driver did not update a graph. Empty: it did.
[[nodiscard]] std::string update_refusal(abi::GraphUpdateResult result);

}  // namespace plumb::cuda
