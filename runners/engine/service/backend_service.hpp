// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/processor.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {

/// Returns the rate of the fastest square matrix product in this type, accumulating in f32, that
/// promises this class of math.
///
/// The first extent is tried with every variant, the others with the best of these, or with every
/// one where they have other names. Zero if the backend has no such product. Takes about half a
/// second for 1,024 and 2,048. Reference implementations are left out, and so are variants that
/// throw. Says on stderr where no product of a larger extent was executed.
[[nodiscard]] FlopsPerSecond measure_peak(worker::Backend& backend,
                                          model::DataType type,
                                          model::LayerSpec::MathClass math,
                                          std::span<const std::int64_t> extents,
                                          const measure::Clock& clock);

/// Returns the best rate of copy, triad and read with `threads` threads, in bytes read and written.
/// Each array has the size of the cache. Throws std::bad_alloc.
[[nodiscard]] BytesPerSecond measure_bandwidth(int threads,
                                               Bytes cache,
                                               const measure::Clock& clock);

/// Service of a worker process over one backend. It verifies, races and times layers, executes
/// models and runs load scenarios (docs/reference/measurement.md, docs/guides/mlperf-scenarios.md).
/// Not thread-safe.
class BackendService final : public worker::WorkerService {
 public:
  /// Options of how a worker measures. The defaults are those of a worker process.
  struct Options {
    int threads = 1;  ///< that the backend was set up with, for calibration
    Bytes last_level_cache =
        measure::read_last_level_cache().value_or(measure::kAssumedLastLevelCache);
    std::function<void(Bytes)> sweep{};  ///< flushes a device's caches; empty: the host's
    std::vector<std::int64_t> peak_extents{1024,
                                           2048};  ///< of the matrix products of a calibration
    Bytes slot_memory{std::int64_t{1} << 30};      ///< limit for the slots of one program
    measure::Clock clock = measure::steady_clock();
    measure::DisturbanceSource disturbance = [] { return measure::read_disturbance(); };
    BlockMonitor* monitor = nullptr;  ///< of the device, if it has one; must outlive the service
    HostPaceSource pace{};            ///< see LayerTiming; empty: the host's pace is not watched
    bool on_processor = false;  ///< the backend computes on the CPU: its peak is measured, too
  };

  /// Keeps a reference to the backend.
  BackendService(worker::Backend& backend, Options options);
  explicit BackendService(worker::Backend& backend) : BackendService(backend, Options{}) {}

  /// Returns the backend's description with facts about the measurement here. These are the timer,
  /// the harness overhead and the cache size.
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
  [[nodiscard]] worker::Trace trace(const worker::Trace::Request& request) override;
  [[nodiscard]] worker::Alternation alternate(const worker::Alternation::Request& request) override;
  [[nodiscard]] worker::Profile profile(const worker::Profile::Request& request) override;
  [[nodiscard]] worker::Profile take_samples(const results::ExecutionMode& mode) override;

 private:
  worker::Backend& backend_;
  Options options_;
  LayerTiming timing_;
  LayerTiming::CacheFlush flush_;
  std::map<std::string, worker::Profile> samples_;  // of the last execution, by mode
};

}  // namespace plumb::engine
