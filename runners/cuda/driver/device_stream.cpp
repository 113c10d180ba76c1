// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_stream.hpp"

#include <utility>

namespace plumb::cuda {

DeviceEvent::DeviceEvent(const Driver& driver, bool timed) : driver_(driver) {
  driver.check(
      driver.calls().event_create(&event_, timed ? abi::kEventDefault : abi::kEventNoTiming),
      "a new event");
}

DeviceEvent::~DeviceEvent() {
  if (event_ != nullptr) {
    static_cast<void>(driver_.calls().event_destroy(event_));
  }
}

DeviceEvent::DeviceEvent(DeviceEvent&& other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}

void DeviceEvent::record(abi::Stream stream) const {
  driver_.check(driver_.calls().event_record(event_, stream), "recording an event");
}

void DeviceEvent::record_in_graph(abi::Stream stream) const {
  driver_.check(driver_.calls().event_record_with_flags(event_, stream, abi::kEventRecordExternal),
                "recording an event in a graph");
}

void DeviceEvent::synchronize() const {
  driver_.check(driver_.calls().event_synchronize(event_), "waiting for the GPU");
}

Seconds time_between(const Driver& driver, const DeviceEvent& begin, const DeviceEvent& end) {
  float milliseconds = 0.0F;
  driver.check(driver.calls().event_elapsed_time(&milliseconds, begin.get(), end.get()),
               "the time between two events");
  return Seconds(static_cast<double>(milliseconds) * 1e-3);
}

DeviceStream::DeviceStream(const Driver& driver) : driver_(driver) {
  driver.check(driver.calls().stream_create(&stream_, abi::kStreamNonBlocking), "a new stream");
}

DeviceStream::~DeviceStream() {
  if (stream_ != nullptr) {
    static_cast<void>(driver_.calls().stream_destroy(stream_));
  }
}

DeviceStream::DeviceStream(DeviceStream&& other) noexcept
    : driver_(other.driver_), stream_(std::exchange(other.stream_, nullptr)) {}

void DeviceStream::synchronize() const {
  driver_.check(driver_.calls().stream_synchronize(stream_), "the GPU's work");
}

void DeviceStream::wait_for(const DeviceEvent& event) const {
  driver_.check(driver_.calls().stream_wait_event(stream_, event.get(), 0), "waiting for an event");
}

}  // namespace plumb::cuda
