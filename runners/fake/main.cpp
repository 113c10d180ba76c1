// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include "harness/worker/worker_server.hpp"
#include "runners/fake/fake_service.hpp"

int main(int argc, char** argv) {
  const auto make_service = [](const plumb::WorkerSetup&) {
    const char* script = std::getenv("PLUMB_FAKE_SCRIPT");
    return std::make_unique<plumb::fake::FakeService>(
        script == nullptr ? plumb::fake::default_script() : plumb::fake::read_script(script));
  };
  return plumb::run_worker("fake", make_service, argc, argv);
}
