// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/device_graph.hpp"

#include <memory>
#include <utility>

namespace plumb::cuda {
namespace {

/// Ends a capture however `work` ends: a stream left capturing refuses everything.
abi::Graph captured(const Driver& driver, abi::Stream stream, const std::function<void()>& work) {
  driver.check(driver.calls().stream_begin_capture(stream, abi::kCaptureThreadLocal),
               "beginning a capture");
  abi::Graph graph = nullptr;
  try {
    work();
  } catch (...) {
    if (driver.calls().stream_end_capture(stream, &graph) == abi::kDriverSuccess) {
      static_cast<void>(driver.calls().graph_destroy(graph));
    }
    throw;
  }
  driver.check(driver.calls().stream_end_capture(stream, &graph), "ending a capture");
  return graph;
}

}  // namespace

DeviceGraph::DeviceGraph(const Driver& driver,
                         const DeviceStream& stream,
                         const std::function<void()>& work)
    : driver_(driver) {
  const auto destroy = [&driver](abi::Graph graph) {
    static_cast<void>(driver.calls().graph_destroy(graph));
  };
  const std::unique_ptr<void, decltype(destroy)> graph(captured(driver, stream.get(), work),
                                                       destroy);
  driver.check(driver.calls().graph_get_nodes(graph.get(), nullptr, &nodes_), "counting nodes");
  driver.check(driver.calls().graph_instantiate(&executable_, graph.get(), 0),
               "instantiating a graph");
  driver.check(driver.calls().graph_upload(executable_, stream.get()), "uploading a graph");
  stream.synchronize();
}

DeviceGraph::~DeviceGraph() {
  if (executable_ != nullptr) {
    static_cast<void>(driver_.calls().graph_executable_destroy(executable_));
  }
}

DeviceGraph::DeviceGraph(DeviceGraph&& other) noexcept
    : driver_(other.driver_),
      executable_(std::exchange(other.executable_, nullptr)),
      nodes_(other.nodes_) {}

void DeviceGraph::launch(abi::Stream stream) const {
  driver_.check(driver_.calls().graph_launch(executable_, stream), "launching a graph");
}

}  // namespace plumb::cuda
