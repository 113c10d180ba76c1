// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_service.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_setup.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/event_timer.hpp"
#include "runners/cuda/reproducer/reproducer_source.hpp"

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

std::unique_ptr<DeviceMonitor> make_monitor(ManagedDevice* management) {
  if (management == nullptr) {
    return nullptr;
  }
  return std::make_unique<DeviceMonitor>([management] { return management->sample(); },
                                         [management] { return management->errors(); },
                                         kLookEvery);
}

CudnnLibrary loaded_library(const worker::WorkerSetup& setup) {
  load_preview_driver(preview_driver_file());
  return CudnnLibrary(setup.libraries);
}

engine::BackendServiceOptions options_for(CudaBackend& backend,
                                          const Device& device,
                                          engine::BlockMonitor* monitor) {
  engine::BackendServiceOptions options;
  options.monitor = monitor;
  options.last_level_cache = device.l2_cache();
  options.sweep = [&backend](Bytes bytes) { backend.sweep(bytes); };
  options.peak_extents = {2048, 8192};
  return options;
}

}  // namespace

// The tracer must exist before the GPU's context, because the profiler must see the context begin.
CudaService::Measuring::Measuring(const CudnnLibrary& library,
                                  const Device& device,
                                  const worker::WorkerObservation& observe,
                                  std::optional<int> harness)
    : tracer(observe.kernels ? std::make_unique<KernelTracer>() : nullptr),
      counters(observe.metrics ? std::make_unique<CounterReader>(*observe.metrics) : nullptr),
      management(managed(device.uuid())),
      monitor(make_monitor(management.get())),
      backend(library, device, {management.get(), tracer.get(), counters.get()}, harness),
      service(backend, options_for(backend, device, monitor.get())) {}

CudaService::CudaService(const worker::WorkerSetup& setup)
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
    } catch (const DriverRefusal& refusal) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("the GPU {} does not start: {}", device().uuid(), refusal.what()));
    } catch (const CudnnRefusal& refusal) {
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
  } catch (const DriverRefusal& refusal) {
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
                                : event_timer_facts(DeviceContext(device(), harness_));
    } catch (const Error& busy) {
      timer_facts_ = results::Facts{{"measure.event_timer", busy.what()}};
    } catch (const DriverRefusal& refusal) {
      timer_facts_ = results::Facts{{"measure.event_timer", refusal.what()}};
    }
  }
  return *timer_facts_;
}

std::vector<worker::Variant> CudaService::variants(const model::LayerKey& key) {
  return measuring().service.variants(key);
}

void CudaService::measure(const worker::MeasureRequest& request,
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

worker::Reproducer CudaService::reproduce(const worker::ReproducerRequest& request) {
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

results::EngineChoices CudaService::preview(const worker::PreviewRequest& request) {
  if (!query_ || query_->device() != request.device) {
    query_.reset();
    query_.emplace(library_, request.device);
  }
  return query_->choices(request.key);
}

}  // namespace plumb::cuda
