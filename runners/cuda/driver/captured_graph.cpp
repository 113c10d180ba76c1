// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/captured_graph.hpp"

namespace plumb::cuda {

CapturedGraph::CapturedGraph(const Driver& driver,
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

CapturedGraph::~CapturedGraph() {
  if (graph_ != nullptr) {
    static_cast<void>(driver_.calls().graph_destroy(graph_));
  }
}

}  // namespace plumb::cuda
