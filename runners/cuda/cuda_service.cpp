// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_service.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

[[noreturn]] void refuse(const Device& device, const char* what) {
  throw Error(
      Error::Kind::kEnvironment,
      fmt::format("the CUDA worker cannot {} on {} yet: it says what cuDNN would choose on a "
                  "described GPU (plumb preview)",
                  what,
                  device.uuid()));
}

}  // namespace

CudaService::CudaService(const std::vector<std::filesystem::path>& libraries)
    : library_(libraries) {}

const Device& CudaService::device() {
  if (!driver_) {
    driver_.emplace();
  }
  if (!device_) {
    device_.emplace(*driver_);
  }
  return *device_;
}

Environment CudaService::describe() {
  Environment environment = library_.describe();
  try {
    device().describe(environment);
  } catch (const Error& missing) {
    environment.facts["gpu.missing"] = missing.what();
  }
  return environment;
}

std::vector<Variant> CudaService::variants(const LayerKey&) {
  refuse(device(), "list variants");
}
void CudaService::measure(const MeasureRequest&, const std::function<void(Measurement)>&) {
  refuse(device(), "measure layers");
}
Calibration CudaService::calibrate() {
  refuse(device(), "measure ceilings");
}
void CudaService::execute(const ExecuteRequest&, const std::function<void(Execution)>&) {
  refuse(device(), "execute models");
}
LoadExecution CudaService::load(const LoadRequest&, const LoadReport&) {
  refuse(device(), "load models");
}

EngineChoices CudaService::preview(const PreviewRequest& request) {
  if (!query_ || query_->device() != request.device) {
    query_.reset();
    query_.emplace(library_, request.device);
  }
  return query_->choices(request.key);
}

}  // namespace plumb::cuda
