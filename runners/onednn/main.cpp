// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/worker/worker_server.hpp"
#include "runners/engine/backend_service.hpp"
#include "runners/engine/memory_limit.hpp"
#include "runners/onednn/library_loader.hpp"

int main(int argc, const char* const* argv) {
  if (const auto memory = plumb::available_memory()) {
    plumb::limit_memory(*memory);
  }
  std::unique_ptr<plumb::Backend> backend;  // outlives the service, which refers to it
  const auto make_service = [&backend](const plumb::WorkerSetup& setup) {
    backend = plumb::onednn::load_backend(setup.libraries, plumb::onednn::default_module());
    plumb::BackendServiceOptions options;
    options.threads = setup.threads;
    return std::make_unique<plumb::BackendService>(*backend, options);
  };
  return plumb::run_worker("onednn", make_service, argc, argv);
}
