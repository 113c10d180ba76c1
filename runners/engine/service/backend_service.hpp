// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/measure/cache_facts.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/cache_rotation.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb {

/// Options of how a worker measures. The defaults are those of a worker process.
struct BackendServiceOptions {
  int threads = 1;  ///< that the backend was set up with, for calibration
  Bytes last_level_cache = read_cache_facts().last_level;
  std::function<void(Bytes)> sweep{};  ///< flushes a device's caches; empty: the host's
  std::vector<std::int64_t> peak_extents{1024, 2048};  ///< of the matrix products of a calibration
  Bytes slot_memory{std::int64_t{1} << 30};            ///< limit for the slots of one program
  Clock clock = steady_clock();
  DisturbanceSource disturbance = [] { return read_disturbance(); };
  BlockMonitor* monitor = nullptr;  ///< of the device, if it has one; must outlive the service
  HostPaceSource pace{};            ///< see LayerTiming; empty: the host's pace is not watched
  bool on_processor = false;        ///< the backend computes on the CPU: its peak is measured, too
};

/// Service of a worker process over one backend. It verifies, races and times layers, executes
/// models and runs load scenarios (docs/reference/measurement.md, docs/guides/mlperf-scenarios.md).
/// Not thread-safe.
class BackendService final : public WorkerService {
 public:
  /// Keeps a reference to the backend.
  explicit BackendService(Backend& backend, BackendServiceOptions options = {});

  /// Returns the backend's description with facts about the measurement here. These are the timer,
  /// the harness overhead and the cache size.
  [[nodiscard]] Environment describe() override;
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) override;
  void measure(const MeasureRequest& request,
               const std::function<void(Measurement)>& emit,
               const AwaitTurn& await_turn) override;
  [[nodiscard]] Calibration calibrate() override;
  void execute(const ExecuteRequest& request,
               const std::function<void(Execution)>& emit,
               const ExecuteReport& report,
               const AwaitTurn& await_turn) override;
  [[nodiscard]] ScenarioResult load(const LoadRequest& request, const LoadReport& report) override;
  [[nodiscard]] Reproducer reproduce(const ReproducerRequest& request) override;

 private:
  Backend& backend_;
  BackendServiceOptions options_;
  LayerTiming timing_;
  CacheFlush flush_;
};

}  // namespace plumb
