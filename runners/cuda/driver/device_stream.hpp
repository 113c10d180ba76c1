// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/driver/driver_abi.hpp"

namespace plumb::cuda {

/// Owner of one stream that waits for no other.
class DeviceStream {
 public:
  /// Owner of a captured graph, instantiated and uploaded. One launch executes all that was
  /// captured.
  class Graph {
   public:
    /// Owner of a graph as a stream captured it: what would be executed, in which order.
    class Captured {
     public:
      /// Captures what `work` puts into `stream`, which may fork to other streams that it joins
      /// again. The same work must have been executed before, so that nothing is loaded or
      /// allocated meanwhile. Throws what `work` throws, and Driver::Refusal if it cannot be
      /// captured. The stream then no longer captures.
      Captured(const Driver& driver, const DeviceStream& stream, const std::function<void()>& work);
      ~Captured();
      Captured(const Captured&) = delete;
      Captured& operator=(const Captured&) = delete;
      Captured(Captured&&) = delete;
      Captured& operator=(Captured&&) = delete;

      [[nodiscard]] abi::Graph get() const { return graph_; }

     private:
      const Driver& driver_;
      abi::Graph graph_ = nullptr;
    };

    /// Captures `work` as Captured does. `before` is an earlier graph of the same kernels
    /// elsewhere in memory, which the GPU has finished. With `before`, that graph is updated. Where
    /// the driver refuses, a new one is instantiated, and refusal() says why.
    Graph(const Driver& driver,
          const DeviceStream& stream,
          const std::function<void()>& work,
          std::optional<Graph> before = std::nullopt);
    ~Graph();
    Graph(Graph&& other) noexcept;
    Graph& operator=(Graph&&) = delete;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void launch(abi::Stream stream) const;
    [[nodiscard]] std::size_t nodes() const { return nodes_; }
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

   private:
    const Driver& driver_;
    abi::GraphExecutable executable_ = nullptr;
    std::size_t nodes_ = 0;
    std::string refusal_;
  };

  /// Owner of one event: a point in a stream, with its time unless `timed` is false.
  class Event {
   public:
    Event(const Driver& driver, bool timed);
    ~Event();
    Event(Event&& other) noexcept;
    Event& operator=(Event&&) = delete;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    [[nodiscard]] abi::Event get() const { return event_; }
    void record(abi::Stream stream) const;
    /// Adds a node to the graph that the stream captures. Each launch of it records the event
    /// there.
    void record_in_graph(abi::Stream stream) const;
    /// Waits until the GPU has reached it.
    void synchronize() const;

   private:
    const Driver& driver_;
    abi::Event event_ = nullptr;
  };

  explicit DeviceStream(const Driver& driver);
  ~DeviceStream();
  DeviceStream(DeviceStream&& other) noexcept;
  DeviceStream& operator=(DeviceStream&&) = delete;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  [[nodiscard]] abi::Stream get() const { return stream_; }
  /// Waits for all work in the stream. Throws Driver::Refusal for what went wrong there.
  void synchronize() const;
  /// Makes all work that is put into this stream from now on wait for the event.
  void wait_for(const Event& event) const;

 private:
  const Driver& driver_;
  abi::Stream stream_ = nullptr;
};

/// Returns the GPU's own time between two recorded events that it has reached. The step of the
/// event timer depends on the GPU: half a microsecond to a nanosecond.
[[nodiscard]] Seconds time_between(const Driver& driver,
                                   const DeviceStream::Event& begin,
                                   const DeviceStream::Event& end);

/// Returns in words why the driver did not update a graph. Empty: it did.
[[nodiscard]] std::string update_refusal(abi::DriverCalls::Graphs::UpdateResult result);

}  // namespace plumb::cuda
