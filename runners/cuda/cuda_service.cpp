// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_service.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

constexpr Bytes kArrays{std::int64_t{1} << 30};  // copied for the bandwidth: beyond every cache

BackendServiceOptions options_for(CudaBackend& backend, const Device& device) {
  BackendServiceOptions options;
  options.last_level_cache = device.l2_cache();
  options.sweep = [&backend](Bytes bytes) { backend.sweep(bytes); };
  options.peak_extents = {2048, 8192};
  return options;
}

}  // namespace

CudaService::Measuring::Measuring(const CudnnLibrary& library, const Device& device, ModelMode mode)
    : backend(library, device, mode), service(backend, options_for(backend, device)) {}

CudaService::CudaService(const std::vector<std::filesystem::path>& libraries, ModelMode mode)
    : library_(libraries), mode_(mode) {}

const Device& CudaService::device() {
  if (!driver_) {
    driver_.emplace();
  }
  if (!device_) {
    device_.emplace(*driver_);
  }
  return *device_;
}

CudaService::Measuring& CudaService::measuring() {
  if (!measuring_) {
    try {
      measuring_.emplace(library_, device(), mode_);
    } catch (const DriverRefusal& refusal) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("the GPU {} does not start: {}", device().uuid(), refusal.what()));
    } catch (const CudnnRefusal& refusal) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cuDNN does not start on the GPU {} (driver of CUDA {}): {}: take a "
                              "newer driver or an older cuDNN",
                              device().uuid(),
                              driver_->version(),
                              refusal.what()));
    }
  }
  return *measuring_;
}

Environment CudaService::describe() {
  Environment environment = library_.describe();
  environment.identity["execution"] = to_text(mode_);
  try {
    device().describe(environment);
  } catch (const Error& missing) {
    environment.facts["gpu.missing"] = missing.what();
  } catch (const DriverRefusal& refusal) {
    environment.facts["gpu.missing"] = refusal.what();
  }
  return environment;
}

std::vector<Variant> CudaService::variants(const LayerKey& key) {
  return measuring().service.variants(key);
}

void CudaService::measure(const MeasureRequest& request,
                          const std::function<void(Measurement)>& emit) {
  measuring().service.measure(request, emit);
}

Calibration CudaService::calibrate() {
  Calibration calibration = measuring().service.calibrate();
  calibration.memory_bandwidth = measuring().backend.copy_rate(kArrays);
  return calibration;
}

void CudaService::execute(const ExecuteRequest& request,
                          const std::function<void(Execution)>& emit) {
  measuring().service.execute(request, emit);
}

LoadExecution CudaService::load(const LoadRequest& request, const LoadReport& report) {
  return measuring().service.load(request, report);
}

EngineChoices CudaService::preview(const PreviewRequest& request) {
  if (!query_ || query_->device() != request.device) {
    query_.reset();
    query_.emplace(library_, request.device);
  }
  return query_->choices(request.key);
}

}  // namespace plumb::cuda
