// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/backend_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/loadgen/load_clock.hpp"
#include "harness/measure/parallel_efficiency.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/worker/protocol/profile_request.hpp"
#include "runners/engine/bench/layer_measurement.hpp"
#include "runners/engine/bench/model_benchmark.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/load/model_load.hpp"
#include "runners/engine/profile/model_alternation.hpp"
#include "runners/engine/profile/model_samples.hpp"
#include "runners/engine/profile/model_trace.hpp"
#include "runners/engine/service/calibration.hpp"
#include "runners/engine/service/machine_controls.hpp"
#include "runners/engine/service/processor_peak.hpp"

namespace plumb::engine {
namespace {

/// Returns a peak, or nothing where no product has a time.
std::optional<FlopsPerSecond> measured_peak(FlopsPerSecond peak) {
  return peak.value > 0.0 ? std::optional(peak) : std::nullopt;
}

}  // namespace

BackendService::BackendService(worker::Backend& backend, BackendServiceOptions options)
    : backend_(backend),
      options_(std::move(options)),
      timing_(options_.clock, options_.disturbance, options_.monitor, options_.pace),
      flush_(options_.last_level_cache, options_.sweep) {}

results::Environment BackendService::describe() {
  results::Environment environment = backend_.describe();
  const measure::TimerFacts timer = measure::measure_timer(options_.clock);
  environment.facts["measure.timer_tick_seconds"] = fmt::format("{:.3g}", timer.tick.count());
  environment.facts["measure.timer_read_seconds"] = fmt::format("{:.3g}", timer.read.count());
  environment.facts["measure.floor_seconds"] = fmt::format("{:.3g}", timing_.floor().at(1).count());
  environment.facts["measure.last_level_cache_bytes"] =
      std::to_string(options_.last_level_cache.value);
  if (options_.on_processor) {
    environment.facts[worker::kSamplingFact] = "threads";
  }
  return environment;
}

std::vector<worker::Variant> BackendService::variants(const model::LayerKey& key) {
  return backend_.variants(key);
}

void BackendService::measure(const worker::MeasureRequest& request,
                             const std::function<void(results::Measurement)>& emit,
                             const worker::AwaitTurn& await_turn) {
  timing_.know_pace(request.host_pace);
  if (request.key.text.starts_with(results::kControlPrefix)) {
    emit(
        measure_control(request.key, timing_, request.in_turns ? await_turn : worker::AwaitTurn()));
    return;
  }
  LayerMeasurement({backend_, timing_, flush_, options_.slot_memory}, request, emit, await_turn)
      .run();
}

void BackendService::execute(const worker::ExecuteRequest& request,
                             const std::function<void(results::Execution)>& emit,
                             const worker::ExecuteReport& report,
                             const worker::AwaitTurn& await_turn) {
  timing_.know_pace(request.host_pace);
  ModelBenchmark benchmark(backend_, timing_, options_.last_level_cache, request);
  benchmark.run(emit, report, await_turn);
  samples_ = benchmark.take_samples();
}

worker::Profile BackendService::take_samples(const results::ExecutionMode& mode) {
  auto found = samples_.extract(to_text(mode));
  return found.empty() ? WorkerService::take_samples(mode) : std::move(found.mapped());
}

results::ScenarioResult BackendService::load(const worker::LoadRequest& request,
                                             const worker::LoadReport& report) {
  const std::unique_ptr<loadgen::LoadClock> clock = loadgen::make_steady_load_clock();
  return load_model(backend_, timing_, options_.disturbance, *clock, request, report);
}

worker::Reproducer BackendService::reproduce(const worker::ReproducerRequest& request) {
  return backend_.reproduce(request);
}

worker::Trace BackendService::trace(const worker::TraceRequest& request) {
  return trace_model(backend_, timing_.clock(), request);
}

worker::Alternation BackendService::alternate(const worker::AlternateRequest& request) {
  if (!request.shapes.empty()) {
    timing_.know_pace(request.shapes.front().host_pace);
  }
  results::Measurement seen;
  worker::Alternation alternation = alternate_shapes(
      backend_, timing_.clock(), request, [&](const std::function<void()>& executions) {
        timing_.watch(executions, seen);
      });
  alternation.disturbance = seen.disturbance;
  alternation.readings = std::move(seen.readings);
  return alternation;
}

worker::Profile BackendService::profile(const worker::ProfileRequest& request) {
  if (request.layer.empty()) {
    return sample_model(backend_, timing_.clock(), request);
  }
  const model::LayerSpec spec = model::parse_key({request.layer});
  return sample_layer(
      backend_, timing_.clock(), random_operands(spec, request.model.seed), request);
}

results::Calibration BackendService::calibrate() {
  results::Calibration calibration;
  const auto peak_of = [this](model::DataType type, model::MathClass math) {
    return measure_peak(backend_, type, math, options_.peak_extents, options_.clock);
  };
  const auto of_processor = [this](model::DataType type) {
    return options_.on_processor ? measure_processor_peak(type, options_.threads, options_.clock)
                                 : std::nullopt;
  };
  constexpr auto kStrict = model::MathClass::kStrict;
  // A stack may be limited to fewer instructions than the machine has.
  calibration.peak_f32 = peak_of(model::DataType::kF32, kStrict);
  calibration.theoretical_f32 = of_processor(model::DataType::kF32);
  calibration.peak_bf16 = std::max(peak_of(model::DataType::kBf16, kStrict),
                                   of_processor(model::DataType::kBf16).value_or(FlopsPerSecond{}));
  calibration.peak_f16 =
      measured_peak(std::max(peak_of(model::DataType::kF16, kStrict),
                             of_processor(model::DataType::kF16).value_or(FlopsPerSecond{})));
  calibration.peak_tf32 = measured_peak(peak_of(model::DataType::kF32, model::MathClass::kTf32));
  calibration.peak_int8 = of_processor(model::DataType::kS8);
  if (calibration.peak_bf16 < calibration.peak_f32) {
    calibration.peak_bf16 = {};  // no faster than f32: not usable as a ceiling
  }
  calibration.memory_bandwidth =
      measure_bandwidth(options_.threads, options_.last_level_cache, options_.clock);
  calibration.last_level_cache = options_.last_level_cache;
  calibration.floor = timing_.floor().at(1);
  calibration.timer_tick = measure::measure_timer(options_.clock).tick;
  calibration.parallel_efficiency = measure::measure_parallel_efficiency(options_.threads);
  return calibration;
}

}  // namespace plumb::engine
