// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/worker/worker_service.hpp"
#include "runners/cuda/cuda_backend.hpp"
#include "runners/cuda/cudnn_library.hpp"
#include "runners/cuda/device.hpp"
#include "runners/cuda/device_monitor.hpp"
#include "runners/cuda/driver.hpp"
#include "runners/cuda/engine_query.hpp"
#include "runners/cuda/kernel_tracer.hpp"
#include "runners/cuda/management_library.hpp"
#include "runners/engine/backend_service.hpp"

namespace plumb::cuda {

/// CUDA worker: measures on the GPU and previews cuDNN's choices for a described GPU. A preview
/// asks the stack's own cuDNN and needs no GPU. A request that needs a GPU throws
/// Error{kEnvironment} where there is none, which says what is missing. Not thread-safe.
class CudaService final : public WorkerService {
 public:
  /// Loads the stack's cuDNN; throws as CudnnLibrary does. Needs no driver.
  CudaService(const std::vector<std::filesystem::path>& libraries, ModelMode mode);

  /// Describes the stack, and the GPU, which is taken for a moment to measure its timer the first
  /// time; without one the fact "gpu.missing" says why.
  [[nodiscard]] Environment describe() override;
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) override;
  void measure(const MeasureRequest& request,
               const std::function<void(Measurement)>& emit) override;
  [[nodiscard]] Calibration calibrate() override;
  void execute(const ExecuteRequest& request,
               const std::function<void(Execution)>& emit,
               const ExecuteReport& report) override;
  [[nodiscard]] LoadExecution load(const LoadRequest& request, const LoadReport& report) override;
  [[nodiscard]] Reproducer reproduce(const ReproducerRequest& request) override;
  [[nodiscard]] EngineChoices preview(const PreviewRequest& request) override;

 private:
  /// State for measuring, kept from the first request that needs the GPU.
  struct Measuring {
    Measuring(const CudnnLibrary& library, const Device& device, ModelMode mode);
    std::unique_ptr<KernelTracer> tracer;       ///< in a worker that profiles; null: it does not
    std::unique_ptr<CounterReader> counters;    ///< in a worker that counts; null: it does not
    std::unique_ptr<ManagedDevice> management;  ///< null: there is none
    std::unique_ptr<DeviceMonitor> monitor;     ///< null: likewise
    CudaBackend backend;
    BackendService service;
  };

  /// Finds the GPU at the first call. Throws Error{kEnvironment} that says what is missing.
  const Device& device();
  /// Measures the timer once; a fact says why if another worker has the GPU.
  const Facts& timer_facts();
  /// Takes the GPU at the first call.
  Measuring& measuring();

  CudnnLibrary library_;
  ModelMode mode_;
  std::optional<Driver> driver_;
  std::optional<Device> device_;
  std::optional<Facts> timer_facts_;
  std::optional<Measuring> measuring_;
  std::optional<EngineQuery> query_;  ///< of the device asked for last
};

}  // namespace plumb::cuda
