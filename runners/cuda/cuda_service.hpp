// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "harness/worker/worker_service.hpp"
#include "runners/cuda/cudnn_library.hpp"
#include "runners/cuda/device.hpp"
#include "runners/cuda/driver.hpp"
#include "runners/cuda/engine_query.hpp"

namespace plumb::cuda {

/// Is the CUDA worker: says what its cuDNN would choose on a described GPU. What needs a GPU itself
/// throws Error{kEnvironment} that says what is missing. Not thread-safe.
class CudaService final : public WorkerService {
 public:
  /// Loads the stack's cuDNN; throws as CudnnLibrary does. Needs no driver.
  explicit CudaService(const std::vector<std::filesystem::path>& libraries);

  /// Describes the stack, and the GPU; without one the fact "gpu.missing" says why.
  [[nodiscard]] Environment describe() override;
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) override;
  void measure(const MeasureRequest& request,
               const std::function<void(Measurement)>& emit) override;
  [[nodiscard]] Calibration calibrate() override;
  void execute(const ExecuteRequest& request, const std::function<void(Execution)>& emit) override;
  [[nodiscard]] LoadExecution load(const LoadRequest& request, const LoadReport& report) override;
  [[nodiscard]] EngineChoices preview(const PreviewRequest& request) override;

 private:
  /// Finds the GPU at the first call. Throws Error{kEnvironment} that says what is missing.
  const Device& device();

  CudnnLibrary library_;
  std::optional<Driver> driver_;
  std::optional<Device> device_;
  std::optional<EngineQuery> query_;  ///< of the device asked for last
};

}  // namespace plumb::cuda
