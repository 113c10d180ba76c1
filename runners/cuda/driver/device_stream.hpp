// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/units.hpp"
#include "runners/cuda/driver/driver.hpp"

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

}  // namespace plumb::cuda
