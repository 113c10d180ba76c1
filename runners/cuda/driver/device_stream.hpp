// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/driver/graph_abi.hpp"

namespace plumb::cuda {

/// Owner of one event: a point in a stream, with its time unless `timed` is false.
class DeviceEvent {
 public:
  DeviceEvent(const Driver& driver, bool timed);
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&& other) noexcept;
  DeviceEvent& operator=(DeviceEvent&&) = delete;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  [[nodiscard]] abi::Event get() const { return event_; }
  void record(abi::Stream stream) const;
  /// Adds a node to the graph that the stream captures. Each launch of it records the event there.
  void record_in_graph(abi::Stream stream) const;
  /// Waits until the GPU has reached it.
  void synchronize() const;

 private:
  const Driver& driver_;
  abi::Event event_ = nullptr;
};

/// Returns the GPU's own time between two recorded events that it has reached. The step of the
/// event timer depends on the GPU: half a microsecond to a nanosecond.
[[nodiscard]] Seconds time_between(const Driver& driver,
                                   const DeviceEvent& begin,
                                   const DeviceEvent& end);

/// Owner of one stream that waits for no other.
class DeviceStream {
 public:
  explicit DeviceStream(const Driver& driver);
  ~DeviceStream();
  DeviceStream(DeviceStream&& other) noexcept;
  DeviceStream& operator=(DeviceStream&&) = delete;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  [[nodiscard]] abi::Stream get() const { return stream_; }
  /// Waits for all work in the stream. Throws DriverRefusal for what went wrong there.
  void synchronize() const;
  /// Makes all work that is put into this stream from now on wait for the event.
  void wait_for(const DeviceEvent& event) const;

 private:
  const Driver& driver_;
  abi::Stream stream_ = nullptr;
};

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
