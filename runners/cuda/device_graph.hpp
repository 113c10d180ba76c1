// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "runners/cuda/device_stream.hpp"

namespace plumb::cuda {

/// Owns a captured graph, instantiated and uploaded: one launch does all that was captured.
class DeviceGraph {
 public:
  /// Captures what `work` puts into `stream` (which may fork to other streams that it joins again).
  /// What it puts there must have been executed before, so that nothing is loaded or allocated
  /// meanwhile. Throws what `work` throws, and DriverRefusal if it cannot be captured; the stream
  /// captures no longer then.
  DeviceGraph(const Driver& driver, const DeviceStream& stream, const std::function<void()>& work);
  ~DeviceGraph();
  DeviceGraph(DeviceGraph&& other) noexcept;
  DeviceGraph& operator=(DeviceGraph&&) = delete;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  void launch(abi::Stream stream) const;
  [[nodiscard]] std::size_t nodes() const { return nodes_; }

 private:
  const Driver& driver_;
  abi::GraphExecutable executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace plumb::cuda
