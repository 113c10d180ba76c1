// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/worker/server/worker_server.hpp"
#include "runners/cuda/cuda_service.hpp"

namespace {

/// Refuses a variable of stacks by which earlier versions chose how models are executed.
void refuse_execution_variable() {
  constexpr const char* kVariable = "PLUMB_CUDA_EXECUTION";
  if (const char* const value = std::getenv(kVariable)) {
    throw plumb::Error(
        plumb::Error::Kind::kUser,
        fmt::format("{0} is '{1}', but captured, eager and streams are modes now: remove {0} from "
                    "the stack's variables, and use --mode",
                    kVariable,
                    std::string_view(value).substr(0, 100)));
  }
}

}  // namespace

int main(int argc, const char* const* argv) {
  const auto make_service = [](const plumb::worker::WorkerSetup& setup) {
    refuse_execution_variable();
    return std::make_unique<plumb::cuda::CudaService>(setup);
  };
  return plumb::worker::run_worker("cuda", make_service, argc, argv);
}
