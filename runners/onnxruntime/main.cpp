// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/worker/server/worker_server.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/onnxruntime/onnxruntime_backend.hpp"

int main(int argc, const char* const* argv) {
  if (const auto memory = plumb::engine::available_memory()) {
    plumb::engine::limit_memory(*memory);
  }
  std::unique_ptr<plumb::worker::Backend> backend;  // outlives the service, which refers to it
  const auto make_service = [&backend](const plumb::worker::WorkerService::Setup& setup) {
    plumb::engine::BackendService::Options options;
    options.on_processor = true;
    options.threads = setup.threads;
    options.pace = plumb::engine::host_pace_source();
    if (setup.place && setup.threads == 1) {
      plumb::engine::stay_on_processor(*setup.place);  // before libraries start threads
    }
    backend = plumb::onnxruntime::make_onnxruntime_backend(setup.libraries, setup.threads);
    return std::make_unique<plumb::engine::BackendService>(*backend, options);
  };
  return plumb::worker::run_worker("onnxruntime", make_service, argc, argv, {});
}
