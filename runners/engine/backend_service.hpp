// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/measure/cache_facts.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/worker_service.hpp"
#include "runners/engine/cache_rotation.hpp"
#include "runners/engine/layer_timing.hpp"

namespace plumb {

/// Options of how a worker measures. The defaults are what a worker process uses.
struct BackendServiceOptions {
  int threads = 1;  ///< that the backend was set up with: for calibration
  Bytes last_level_cache = read_cache_facts().last_level;
  std::function<void(Bytes)> sweep{};  ///< writes over a device's caches; empty: the host's
  std::vector<std::int64_t> peak_extents{1024, 2048};  ///< of the products that calibrate
  Bytes slot_memory{std::int64_t{1} << 30};            ///< for the slots of one program
  std::string filter;  ///< Google Benchmark's, over "key/variant/cache/purpose"; empty: all
  Clock clock = steady_clock();
  DisturbanceSource disturbance = [] { return read_disturbance(); };
  BlockMonitor* monitor = nullptr;  ///< of the device, if it has one; must outlive the service
  HostPaceSource pace{};            ///< see LayerTiming; empty: the host's pace is not watched
};

/// Implementation of a worker process over one backend. It verifies, races and times layers,
/// executes models and loads them (docs/reference/measurement.md, docs/guides/mlperf-scenarios.md).
/// Not thread-safe.
class BackendService final : public WorkerService {
 public:
  /// Keeps a reference to the backend.
  explicit BackendService(Backend& backend, BackendServiceOptions options = {});

  /// Returns the backend's own description and, as facts, the timer, the floor and the cache size
  /// that measurements here have to do with.
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

 private:
  Backend& backend_;
  BackendServiceOptions options_;
  LayerTiming timing_;
  CacheFlush flush_;
};

}  // namespace plumb
