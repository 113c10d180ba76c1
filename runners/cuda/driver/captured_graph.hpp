// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runners/cuda/driver/device_stream.hpp"

namespace plumb::cuda {

/// Owner of a graph as a stream captured it: what would be executed, in which order.
class CapturedGraph {
 public:
  /// Captures what `work` puts into `stream`, which may fork to other streams that it joins again.
  /// The same work must have been executed before, so that nothing is loaded or allocated
  /// meanwhile. Throws what `work` throws, and DriverRefusal if it cannot be captured. The stream
  /// then no longer captures.
  CapturedGraph(const Driver& driver,
                const DeviceStream& stream,
                const std::function<void()>& work);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  CapturedGraph(CapturedGraph&&) = delete;
  CapturedGraph& operator=(CapturedGraph&&) = delete;

  [[nodiscard]] abi::Graph get() const { return graph_; }

 private:
  const Driver& driver_;
  abi::Graph graph_ = nullptr;
};

}  // namespace plumb::cuda
