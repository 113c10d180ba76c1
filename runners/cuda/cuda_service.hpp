// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/protocol/worker_service.hpp"
#include "harness/worker/protocol/worker_setup.hpp"
#include "runners/cuda/cuda_backend.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/engine_query.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/driver/management_library.hpp"
#include "runners/cuda/observe/device_monitor.hpp"
#include "runners/cuda/observe/kernel_tracer.hpp"
#include "runners/engine/service/backend_service.hpp"

namespace plumb::cuda {

/// Worker that measures on the GPU and previews cuDNN's choices for a described GPU. A preview asks
/// the stack's own cuDNN and needs no GPU. Without a GPU, a request that needs one throws
/// Error{kEnvironment}, which says what is missing. Not thread-safe.
class CudaService final : public worker::WorkerService {
 public:
  /// Loads the stack's cuDNN, and throws as CudnnLibrary does. Needs no driver.
  explicit CudaService(const worker::WorkerSetup& setup);

  [[nodiscard]] bool has_devices() const override { return true; }
  /// Describes the stack and the GPU. The first call reserves the GPU for a moment, to measure its
  /// timer. Without a GPU, the fact "gpu.missing" says why. Throws Error{kEnvironment} if the setup
  /// chooses a GPU that is not there.
  [[nodiscard]] results::Environment describe() override;
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) override;
  void measure(const worker::MeasureRequest& request,
               const std::function<void(results::Measurement)>& emit,
               const worker::AwaitTurn& await_turn) override;
  [[nodiscard]] results::Calibration calibrate() override;
  void execute(const worker::ExecuteRequest& request,
               const std::function<void(results::Execution)>& emit,
               const worker::ExecuteReport& report,
               const worker::AwaitTurn& await_turn) override;
  [[nodiscard]] results::ScenarioResult load(const worker::LoadRequest& request,
                                             const worker::LoadReport& report) override;
  [[nodiscard]] worker::Reproducer reproduce(const worker::ReproducerRequest& request) override;
  [[nodiscard]] results::EngineChoices preview(const worker::PreviewRequest& request) override;

 private:
  /// State for measuring, kept from the first request that needs the GPU.
  struct Measuring {
    Measuring(const CudnnLibrary& library,
              const Device& device,
              const worker::WorkerObservation& observe,
              std::optional<int> harness);
    std::unique_ptr<KernelTracer> tracer;       ///< null: this worker does not profile
    std::unique_ptr<CounterReader> counters;    ///< null: this worker reads no counters
    std::unique_ptr<ManagedDevice> management;  ///< null: there is no NVML
    std::unique_ptr<DeviceMonitor> monitor;     ///< null: there is no NVML
    CudaBackend backend;
    engine::BackendService service;
  };

  /// Finds the GPU at the first call. Throws Error{kEnvironment} that says what is missing.
  const Device& device();
  /// Measures the GPU's timer at the first call. If another worker has the GPU, a fact says so.
  const results::Facts& timer_facts();
  /// Returns the state for measuring, and reserves the GPU at the first call.
  Measuring& measuring();

  CudnnLibrary library_;
  worker::WorkerObservation observe_;
  std::string choice_;          ///< of the GPU; empty: the first
  std::optional<int> harness_;  ///< whose workers take turns on it; absent: it is this one's alone
  std::optional<Driver> driver_;
  std::optional<Device> device_;
  std::optional<results::Facts> timer_facts_;
  std::optional<Measuring> measuring_;
  std::optional<EngineQuery> query_;  ///< for the device of the last preview
};

}  // namespace plumb::cuda
