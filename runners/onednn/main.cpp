// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include "harness/worker/server/worker_server.hpp"
#include "runners/engine/bench/slowed_backend.hpp"
#include "runners/engine/exec/memory_limit.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/onednn/library_loader.hpp"

int main(int argc, const char* const* argv) {
  if (const auto memory = plumb::available_memory()) {
    plumb::limit_memory(*memory);
  }
  std::unique_ptr<plumb::Backend> backend;  // outlives the service, which refers to it
  std::unique_ptr<plumb::Backend> slowed;
  const auto make_service = [&backend, &slowed](const plumb::WorkerSetup& setup) {
    backend = plumb::onednn::load_backend(setup.libraries, plumb::onednn::default_module());
    plumb::BackendServiceOptions options;
    options.on_processor = true;
    options.threads = setup.threads;
    options.pace = plumb::host_pace_source();
    if (const char* const slowing = std::getenv("PLUMB_TEST_SLOW_LAYERS")) {
      slowed = std::make_unique<plumb::SlowedBackend>(*backend, slowing);
    }
    return std::make_unique<plumb::BackendService>(slowed ? *slowed : *backend, options);
  };
  return plumb::run_worker("onednn", make_service, argc, argv);
}
