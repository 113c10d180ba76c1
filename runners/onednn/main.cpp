// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <memory>

#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/server/worker_server.hpp"
#include "runners/engine/bench/benchmark_program.hpp"
#include "runners/engine/bench/slowed_backend.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

/// The backend of this process, perhaps with slowed layers.
class LoadedBackend {
 public:
  plumb::worker::Backend& load(const plumb::worker::WorkerService::Setup& setup) {
    backend_ = plumb::onednn::load_backend(setup.libraries, plumb::onednn::default_module());
    if (const char* const slowing = std::getenv("PLUMB_TEST_SLOW_LAYERS")) {
      slowed_ = std::make_unique<plumb::engine::SlowedBackend>(*backend_, slowing);
    }
    return slowed_ ? *slowed_ : *backend_;
  }

  /// Loads as `plumb` would have a worker load: the libraries asked for, or the default stack's.
  plumb::worker::Backend& load_by_hand(plumb::worker::WorkerService::Setup setup) {
    for (const auto& [name, value] : plumb::worker::thread_variables(setup.threads)) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    if (setup.libraries.empty()) {
      setup.libraries = plumb::worker::default_stack().libraries;
    }
    return load(setup);
  }

 private:
  std::unique_ptr<plumb::worker::Backend> backend_;
  std::unique_ptr<plumb::worker::Backend> slowed_;
};

}  // namespace

int main(int argc, const char* const* argv) {
  plumb::engine::flush_denormals();  // before any thread is started
  if (const auto memory = plumb::engine::available_memory()) {
    plumb::engine::limit_memory(*memory);
  }
  LoadedBackend backend;  // outlives the service, which refers to it
  const auto make_service = [&backend](const plumb::worker::WorkerService::Setup& setup) {
    plumb::engine::BackendService::Options options;
    options.on_processor = true;
    options.threads = setup.threads;
    options.pace = plumb::engine::host_pace_source();
    if (setup.place && setup.threads == 1) {
      plumb::engine::stay_on_processor(*setup.place);  // before libraries start threads
    }
    return std::make_unique<plumb::engine::BackendService>(backend.load(setup), options);
  };
  const auto open =
      [&backend](const plumb::worker::WorkerService::Setup& setup) -> plumb::worker::Backend& {
    return backend.load_by_hand(setup);
  };
  const std::array by_hand{
      plumb::worker::HandCommand{plumb::engine::kLayersOption,
                                 plumb::engine::kBenchmarkUsage,
                                 [&open](std::span<const char* const> arguments) {
                                   return plumb::engine::run_benchmark_program(open, arguments);
                                 }}};
  return plumb::worker::run_worker("onednn", make_service, argc, argv, by_hand);
}
