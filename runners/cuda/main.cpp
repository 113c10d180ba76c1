// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include "harness/worker/server/worker_server.hpp"
#include "runners/cuda/cuda_service.hpp"

int main(int argc, const char* const* argv) {
  const auto make_service = [](const plumb::worker::WorkerSetup& setup) {
    return std::make_unique<plumb::cuda::CudaService>(
        setup, plumb::cuda::model_mode_from(std::getenv("PLUMB_CUDA_EXECUTION")));
  };
  return plumb::worker::run_worker("cuda", make_service, argc, argv);
}
