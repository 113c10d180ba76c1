// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "harness/worker/server/worker_server.hpp"
#include "runners/cuda/cuda_backend.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/engine_query.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_health.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/event_clock.hpp"
#include "runners/cuda/observe/profiler.hpp"
#include "runners/cuda/reproducer/reproducer_source.hpp"
#include "runners/engine/service/backend_service.hpp"

namespace plumb::cuda {
namespace {

constexpr Bytes kArrays{std::int64_t{1} << 30};  // copied for the bandwidth: larger than any cache

constexpr Seconds kLookEvery{0.01};  // a block lasts some ten milliseconds or more

std::unique_ptr<ManagedDevice> managed(const std::string& uuid) {
  try {
    return std::make_unique<ManagedDevice>(uuid);
  } catch (const Error&) {
    return nullptr;  // the fact gpu.management says why
  }
}

std::unique_ptr<ManagedDevice::Monitor> make_monitor(ManagedDevice* management) {
  if (management == nullptr) {
    return nullptr;
  }
  return std::make_unique<ManagedDevice::Monitor>([management] { return management->sample(); },
                                                  [management] { return management->errors(); },
                                                  kLookEvery);
}

CudnnLibrary loaded_library(const worker::WorkerService::Setup& setup) {
  load_preview_driver(preview_driver_file());
  return CudnnLibrary(setup.libraries);
}

engine::BackendService::Options options_for(CudaBackend& backend,
                                            const Device& device,
                                            engine::BlockMonitor* monitor) {
  engine::BackendService::Options options;
  options.monitor = monitor;
  options.last_level_cache = device.l2_cache();
  options.sweep = [&backend](Bytes bytes) { backend.sweep(bytes); };
  options.peak_extents = {2048, 8192};
  return options;
}

/// Worker that measures on the GPU and previews cuDNN's choices for a described GPU. A preview asks
/// the stack's own cuDNN and needs no GPU. Without a GPU, a request that needs one throws
/// Error{kEnvironment}, which says what is missing. Not thread-safe.
class CudaService final : public worker::WorkerService {
 public:
  /// Loads the stack's cuDNN, and throws as CudnnLibrary does. Needs no driver.
  explicit CudaService(const worker::WorkerService::Setup& setup);

  [[nodiscard]] bool has_devices() const override { return true; }
  /// Describes the stack and the GPU. The first call reserves the GPU for a moment, to measure its
  /// timer. Without a GPU, the fact "gpu.missing" says why. Throws Error{kEnvironment} if the setup
  /// chooses a GPU that is not there.
  [[nodiscard]] results::Environment describe() override;
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) override;
  void measure(const worker::WorkerService::MeasureRequest& request,
               const std::function<void(results::Measurement)>& emit,
               const worker::AwaitTurn& await_turn) override;
  [[nodiscard]] results::Calibration calibrate() override;
  void execute(const worker::ExecuteRequest& request,
               const std::function<void(results::Execution)>& emit,
               const worker::ExecuteReport& report,
               const worker::AwaitTurn& await_turn) override;
  [[nodiscard]] results::ScenarioResult load(const worker::LoadRequest& request,
                                             const worker::LoadReport& report) override;
  [[nodiscard]] worker::Reproducer reproduce(const worker::Reproducer::Request& request) override;
  [[nodiscard]] results::EngineChoices preview(
      const worker::WorkerService::PreviewRequest& request) override;

 private:
  /// State for measuring, kept from the first request that needs the GPU.
  struct Measuring {
    Measuring(const CudnnLibrary& library,
              const Device& device,
              const worker::WorkerService::Setup::Observation& observe,
              std::optional<int> harness);
    std::unique_ptr<KernelTracer> tracer;             ///< null: this worker does not profile
    std::unique_ptr<CounterReader> counters;          ///< null: this worker reads no counters
    std::unique_ptr<ManagedDevice> management;        ///< null: there is no NVML
    std::unique_ptr<ManagedDevice::Monitor> monitor;  ///< null: there is no NVML
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
  worker::WorkerService::Setup::Observation observe_;
  std::string choice_;          ///< of the GPU; empty: the first
  std::optional<int> harness_;  ///< whose workers take turns on it; absent: it is this one's alone
  std::optional<Driver> driver_;
  std::optional<Device> device_;
  std::optional<results::Facts> timer_facts_;
  std::optional<Measuring> measuring_;
  std::optional<EngineQuery> query_;  ///< for the device of the last preview
};

// The tracer must exist before the GPU's context, because the profiler must see the context begin.
CudaService::Measuring::Measuring(const CudnnLibrary& library,
                                  const Device& device,
                                  const worker::WorkerService::Setup::Observation& observe,
                                  std::optional<int> harness)
    : tracer(observe.kernels ? std::make_unique<KernelTracer>() : nullptr),
      counters(observe.metrics ? std::make_unique<CounterReader>(*observe.metrics) : nullptr),
      management(managed(device.uuid())),
      monitor(make_monitor(management.get())),
      backend(library, device, {management.get(), tracer.get(), counters.get()}, harness),
      service(backend, options_for(backend, device, monitor.get())) {}

CudaService::CudaService(const worker::WorkerService::Setup& setup)
    : library_(loaded_library(setup)),
      observe_(setup.observe),
      choice_(setup.device),
      harness_(setup.takes_turns ? std::optional<int>(getppid()) : std::nullopt) {}

const Device& CudaService::device() {
  if (!driver_) {
    driver_.emplace();
  }
  if (!device_) {
    device_.emplace(*driver_, choice_);
  }
  return *device_;
}

CudaService::Measuring& CudaService::measuring() {
  if (!measuring_) {
    try {
      measuring_.emplace(library_, device(), observe_, harness_);
    } catch (const Driver::Refusal& refusal) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("the GPU {} does not start: {}", device().uuid(), refusal.what()));
    } catch (const CudnnLibrary::Refusal& refusal) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cuDNN does not start on the GPU {} (driver of CUDA {}): {}: use a "
                              "newer driver or an older cuDNN",
                              device().uuid(),
                              driver_->version(),
                              refusal.what()));
    }
  }
  return *measuring_;
}

results::Environment CudaService::describe() {
  results::Environment environment = library_.describe();
  try {
    device().describe(environment);
    environment.facts.merge(results::Facts(timer_facts()));
    environment.facts[worker::kProfilerFact] = "CUPTI";
  } catch (const Error& missing) {
    if (!choice_.empty()) {
      throw;  // who chooses a GPU does not want to hear of a machine without
    }
    environment.facts["gpu.missing"] = missing.what();
  } catch (const Driver::Refusal& refusal) {
    if (!choice_.empty()) {
      throw Error(Error::Kind::kEnvironment, refusal.what());
    }
    environment.facts["gpu.missing"] = refusal.what();
  }
  return environment;
}

const results::Facts& CudaService::timer_facts() {
  if (!timer_facts_) {
    try {
      timer_facts_ = measuring_ ? event_timer_facts(measuring_->backend.context())
                                : event_timer_facts(Device::Context(device(), harness_));
    } catch (const Error& busy) {
      timer_facts_ = results::Facts{{"measure.event_timer", busy.what()}};
    } catch (const Driver::Refusal& refusal) {
      timer_facts_ = results::Facts{{"measure.event_timer", refusal.what()}};
    }
  }
  return *timer_facts_;
}

std::vector<worker::Variant> CudaService::variants(const model::LayerKey& key) {
  return measuring().service.variants(key);
}

void CudaService::measure(const worker::WorkerService::MeasureRequest& request,
                          const std::function<void(results::Measurement)>& emit,
                          const worker::AwaitTurn& await_turn) {
  measuring().service.measure(request, emit, await_turn);
}

results::Calibration CudaService::calibrate() {
  results::Calibration calibration = measuring().service.calibrate();
  calibration.memory_bandwidth = measuring().backend.copy_rate(kArrays);
  return calibration;
}

void CudaService::execute(const worker::ExecuteRequest& request,
                          const std::function<void(results::Execution)>& emit,
                          const worker::ExecuteReport& report,
                          const worker::AwaitTurn& await_turn) {
  measuring().service.execute(request, emit, report, await_turn);
}

results::ScenarioResult CudaService::load(const worker::LoadRequest& request,
                                          const worker::LoadReport& report) {
  return measuring().service.load(request, report);
}

worker::Reproducer CudaService::reproduce(const worker::Reproducer::Request& request) {
  const results::Environment environment = describe();
  const auto fact = [&](const results::Facts& facts, const char* name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("unknown") : found->second;
  };
  return cuda::reproduce(request,
                         fmt::format("{} on {}, driver {}",
                                     fact(environment.identity, "library"),
                                     fact(environment.identity, "gpu"),
                                     fact(environment.identity, "driver")));
}

results::EngineChoices CudaService::preview(const worker::WorkerService::PreviewRequest& request) {
  if (!query_ || query_->device() != request.device) {
    query_.reset();
    query_.emplace(library_, request.device);
  }
  return query_->choices(request.key);
}

/// Refuses a variable of stacks by which earlier versions chose how models are executed.
void refuse_execution_variable() {
  constexpr const char* kVariable = "PLUMB_CUDA_EXECUTION";
  if (const char* const value = std::getenv(kVariable)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{0} is '{1}', but captured, eager and streams are modes now: remove {0} from "
                    "the stack's variables, and use --mode",
                    kVariable,
                    std::string_view(value).substr(0, 100)));
  }
}

}  // namespace
}  // namespace plumb::cuda

int main(int argc, const char* const* argv) {
  const auto make_service = [](const plumb::worker::WorkerService::Setup& setup) {
    plumb::cuda::refuse_execution_variable();
    return std::make_unique<plumb::cuda::CudaService>(setup);
  };
  return plumb::worker::run_worker("cuda", make_service, argc, argv);
}
