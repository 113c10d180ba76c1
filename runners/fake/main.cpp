// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>
#include <utility>

#include "harness/worker/server/worker_server.hpp"
#include "runners/fake/fake_service.hpp"

int main(int argc, char** argv) {
  const auto make_service = [](const plumb::worker::WorkerService::Setup& setup) {
    const char* script = std::getenv("PLUMB_FAKE_SCRIPT");
    plumb::fake::Script what =
        script == nullptr ? plumb::fake::default_script() : plumb::fake::read_script(script);
    if (const char* const slowness = std::getenv("PLUMB_FAKE_SLOWNESS")) {
      what.slowness = std::strtod(slowness, nullptr);
    }
    return std::make_unique<plumb::fake::FakeService>(std::move(what), setup.observe);
  };
  const char* const backend = std::getenv("PLUMB_FAKE_BACKEND");
  return plumb::worker::run_worker(backend == nullptr ? "fake" : backend, make_service, argc, argv);
}
