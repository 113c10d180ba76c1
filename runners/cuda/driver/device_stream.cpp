// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_stream.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace plumb::cuda {

DeviceStream::Event::Event(const Driver& driver, bool timed) : driver_(driver) {
  driver.check(
      driver.calls().event_create(&event_, timed ? abi::kEventDefault : abi::kEventNoTiming),
      "a new event");
}

DeviceStream::Event::~Event() {
  if (event_ != nullptr) {
    static_cast<void>(driver_.calls().event_destroy(event_));
  }
}

DeviceStream::Event::Event(DeviceStream::Event&& other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}

void DeviceStream::Event::record(abi::Stream stream) const {
  driver_.check(driver_.calls().event_record(event_, stream), "recording an event");
}

void DeviceStream::Event::record_in_graph(abi::Stream stream) const {
  driver_.check(driver_.calls().event_record_with_flags(event_, stream, abi::kEventRecordExternal),
                "recording an event in a graph");
}

void DeviceStream::Event::synchronize() const {
  driver_.check(driver_.calls().event_synchronize(event_), "waiting for the GPU");
}

Seconds time_between(const Driver& driver,
                     const DeviceStream::Event& begin,
                     const DeviceStream::Event& end) {
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

void DeviceStream::wait_for(const DeviceStream::Event& event) const {
  driver_.check(driver_.calls().stream_wait_event(stream_, event.get(), 0), "waiting for an event");
}

DeviceStream::Graph::Captured::Captured(const Driver& driver,
                                        const DeviceStream& stream,
                                        const std::function<void()>& work)
    : driver_(driver) {
  driver.check(driver.calls().stream_begin_capture(stream.get(), abi::kCaptureThreadLocal),
               "beginning a capture");
  // The capture must end however `work` does: a stream that still captures refuses everything.
  try {
    work();
  } catch (...) {
    abi::Graph broken = nullptr;
    if (driver.calls().stream_end_capture(stream.get(), &broken) == abi::kDriverSuccess) {
      static_cast<void>(driver.calls().graph_destroy(broken));
    }
    throw;
  }
  driver.check(driver.calls().stream_end_capture(stream.get(), &graph_), "ending a capture");
}

DeviceStream::Graph::Captured::~Captured() {
  if (graph_ != nullptr) {
    static_cast<void>(driver_.calls().graph_destroy(graph_));
  }
}

namespace {

/// Updates the executable to a captured graph. Returns why that failed; empty: it did not.
std::string updated(const Driver& driver, abi::GraphExecutable executable, abi::Graph graph) {
  if (driver.graph_calls().update == nullptr) {
    return "the driver is too old to update a graph";
  }
  abi::DriverCalls::Graphs::Update update;
  const int status = driver.graph_calls().update(executable, graph, &update);
  if (status == abi::kDriverSuccess) {
    return "";
  }
  const std::string reason =
      update_refusal(static_cast<abi::DriverCalls::Graphs::UpdateResult>(update.result));
  return reason.empty() ? fmt::format("the driver's status is {}", status) : reason;
}

}  // namespace

DeviceStream::Graph::Graph(const Driver& driver,
                           const DeviceStream& stream,
                           const std::function<void()>& work,
                           std::optional<DeviceStream::Graph> before)
    : driver_(driver) {
  const DeviceStream::Graph::Captured graph(driver, stream, work);
  driver.check(driver.calls().graph_get_nodes(graph.get(), nullptr, &nodes_), "counting nodes");
  if (before && before->executable_ != nullptr) {
    refusal_ = updated(driver, before->executable_, graph.get());
    if (refusal_.empty()) {
      executable_ = std::exchange(before->executable_, nullptr);
    } else {
      fmt::print(stderr, "a graph is instantiated, not updated: {}\n", refusal_);
    }
  }
  if (executable_ == nullptr) {
    driver.check(driver.calls().graph_instantiate(&executable_, graph.get(), 0),
                 "instantiating a graph");
  }
  // The destructor does not run if this constructor throws, so the executable is destroyed here.
  try {
    driver.check(driver.calls().graph_upload(executable_, stream.get()), "uploading a graph");
    stream.synchronize();
  } catch (...) {
    static_cast<void>(driver.calls().graph_executable_destroy(executable_));
    throw;
  }
}

DeviceStream::Graph::~Graph() {
  if (executable_ != nullptr) {
    static_cast<void>(driver_.calls().graph_executable_destroy(executable_));
  }
}

DeviceStream::Graph::Graph(DeviceStream::Graph&& other) noexcept
    : driver_(other.driver_),
      executable_(std::exchange(other.executable_, nullptr)),
      nodes_(other.nodes_),
      refusal_(std::move(other.refusal_)) {}

void DeviceStream::Graph::launch(abi::Stream stream) const {
  driver_.check(driver_.calls().graph_launch(executable_, stream), "launching a graph");
}

std::string update_refusal(abi::DriverCalls::Graphs::UpdateResult result) {
  switch (result) {
    case abi::DriverCalls::Graphs::UpdateResult::kUpdated:
      return "";
    case abi::DriverCalls::Graphs::UpdateResult::kError:
      return "the update failed";
    case abi::DriverCalls::Graphs::UpdateResult::kTopologyChanged:
      return "its nodes or their order differ";
    case abi::DriverCalls::Graphs::UpdateResult::kNodeTypeChanged:
      return "a node has another type";
    case abi::DriverCalls::Graphs::UpdateResult::kFunctionChanged:
    case abi::DriverCalls::Graphs::UpdateResult::kUnsupportedFunctionChange:
      return "a node has another kernel";
    case abi::DriverCalls::Graphs::UpdateResult::kParametersChanged:
      return "a node's parameters changed in a way that cannot be updated";
    case abi::DriverCalls::Graphs::UpdateResult::kNotSupported:
      return "a node cannot be updated";
    case abi::DriverCalls::Graphs::UpdateResult::kAttributesChanged:
      return "a node's attributes changed in a way that cannot be updated";
  }
  return fmt::format("the driver's reason is {}", static_cast<int>(result));
}

}  // namespace plumb::cuda
