// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_service.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

[[noreturn]] void refuse(const char* what) {
  const bool driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  throw Error(
      Error::Kind::kEnvironment,
      fmt::format("the CUDA worker cannot {} yet: it says what cuDNN would choose on a "
                  "described GPU (plumb preview){}",
                  what,
                  driver ? "" : "; this machine has no NVIDIA driver (libcuda.so.1) either"));
}

}  // namespace

CudaService::CudaService(const std::vector<std::filesystem::path>& libraries)
    : library_(libraries) {}

Environment CudaService::describe() {
  return library_.describe();
}
std::vector<Variant> CudaService::variants(const LayerKey&) {
  refuse("list variants");
}
void CudaService::measure(const MeasureRequest&, const std::function<void(Measurement)>&) {
  refuse("measure layers");
}
Calibration CudaService::calibrate() {
  refuse("measure ceilings");
}
void CudaService::execute(const ExecuteRequest&, const std::function<void(Execution)>&) {
  refuse("execute models");
}
LoadExecution CudaService::load(const LoadRequest&, const LoadReport&) {
  refuse("load models");
}

EngineChoices CudaService::preview(const PreviewRequest& request) {
  if (!query_ || query_->device() != request.device) {
    query_.reset();
    query_.emplace(library_, request.device);
  }
  return query_->choices(request.key);
}

}  // namespace plumb::cuda
