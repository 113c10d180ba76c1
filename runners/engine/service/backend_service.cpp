// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/backend_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"
#include "harness/measure/processor.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/bench/layer_measurement.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/bench/model_benchmark.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/load/model_load.hpp"
#include "runners/engine/profile/model_requests.hpp"
#include "runners/engine/service/machine_controls.hpp"
#include "runners/engine/service/processor_peak.hpp"

namespace plumb::engine {
namespace {

// Of one variant. Each is tried, but only the fastest is measured well.
constexpr Seconds kTrial{0.02};
constexpr Seconds kPeakBudget{0.4};

model::LayerSpec square_product(model::DataType type,
                                model::LayerSpec::MathClass math,
                                std::int64_t extent) {
  model::LayerSpec spec;
  spec.op = "matmul";
  spec.math = math;
  const model::TensorType left{type, {extent, extent}, false, {}};
  const model::TensorType right{type, {extent, extent}, true, {}};
  spec.inputs = {left, right};
  spec.outputs = {left};
  return spec;
}

/// Returns the fastest of a few executions. A ceiling is what was reached once, and a disturbance
/// only lowers it. Of a device's clock it takes the time that includes launching. A difference of
/// two times falls below the truth where the device speeds up between them.
Seconds measure_fastest(measure::TimedRegion& region, Seconds budget, const measure::Clock& clock) {
  region.run(1);
  Seconds best{};
  Seconds spent{};
  do {
    const Seconds begin = clock();
    auto* const own = dynamic_cast<measure::TimedRegion::OwnClock*>(&region);
    Seconds time{};
    if (own != nullptr && own->has_clock()) {
      time = own->own_sample().at_most;
    } else {
      region.run(1);
      time = clock() - begin;
    }
    best = best == Seconds(0.0) ? time : std::min(best, time);
    spent += std::max(clock() - begin, Seconds(1e-6));
  } while (spent < budget);
  return best;
}

std::optional<Seconds> measure_time(worker::Backend& backend,
                                    const model::LayerKey& key,
                                    const std::string& variant,
                                    const std::vector<model::Tensor>& operands,
                                    Seconds budget,
                                    const measure::Clock& clock) {
  try {
    const worker::Backend::Prepared prepared = backend.prepare(key, variant);
    if (!prepared.outcome.ok()) {
      return std::nullopt;
    }
    prepared.program->bind(0, operands, false);
    LayerTiming::HotRegion region(*prepared.program);
    return measure_fastest(region, budget, clock);
  } catch (const std::exception&) {
    return std::nullopt;  // another variant may succeed
  }
}

using Range = std::function<void(std::size_t part, std::size_t begin, std::size_t end)>;

/// Splits [0, count) over `threads` threads, one of which is the caller's.
void in_parallel(int threads, std::size_t count, const Range& work) {
  const auto parts = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<std::thread> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.emplace_back(
        [&, part] { work(part, count * part / parts, count * (part + 1) / parts); });
  }
  work(0, 0, count / parts);
  for (std::thread& other : others) {
    other.join();
  }
}

class StreamRegion final : public measure::TimedRegion {
 public:
  StreamRegion(int threads, std::size_t count, Range work)
      : threads_(threads), count_(count), work_(std::move(work)) {}
  void run(std::size_t repetitions) override {
    for (std::size_t i = 0; i < repetitions; ++i) {
      in_parallel(threads_, count_, work_);
    }
  }

 private:
  int threads_;
  std::size_t count_;
  Range work_;
};

}  // namespace

FlopsPerSecond measure_peak(worker::Backend& backend,
                            model::DataType type,
                            model::LayerSpec::MathClass math,
                            std::span<const std::int64_t> extents,
                            const measure::Clock& clock) {
  FlopsPerSecond peak;
  std::string best;
  for (const std::int64_t extent : extents) {
    const model::LayerSpec spec = square_product(type, math, extent);
    const model::LayerKey key = model::to_key(spec);
    if (!backend.supports(key).ok()) {
      return peak;
    }
    const double flops = 2.0 * static_cast<double>(extent * extent * extent);
    const std::vector<worker::Variant> variants = backend.variants(key);
    // A library may name the fastest variant of the smaller product otherwise here, or lack it.
    const bool known =
        std::any_of(variants.begin(), variants.end(), [&](const worker::Variant& variant) {
          return variant.text == best;
        });
    const std::string only = known ? best : "";  // empty: try all
    bool executed = false;
    std::vector<model::Tensor> operands;
    for (const worker::Variant& variant : variants) {
      if (variant.reference_implementation || (!only.empty() && variant.text != only)) {
        continue;
      }
      if (operands.empty()) {
        operands = random_operands(spec, 1);
      }
      const auto time = measure_time(
          backend, key, variant.text, operands, only.empty() ? kTrial : kPeakBudget, clock);
      executed = executed || time;
      if (time && *time > Seconds(0.0) && flops / time->count() > peak.value) {
        peak.value = flops / time->count();
        best = variant.text;
      }
    }
    if (!executed && peak.value > 0.0) {
      fmt::print(stderr,
                 "the peak in {} is that of smaller products: no product of {} rows was executed\n",
                 to_text(type),
                 extent);
    }
  }
  return peak;
}

BytesPerSecond measure_bandwidth(int threads, Bytes cache, const measure::Clock& clock) {
  const auto count =
      static_cast<std::size_t>(std::max<std::int64_t>(cache.value, 1 << 20)) / sizeof(double);
  std::vector<double> a(count, 1.0);
  std::vector<double> b(count, 2.0);
  std::vector<double> c(count, 3.0);
  std::vector<double> sums(static_cast<std::size_t>(std::max(threads, 1)));
  const double array = static_cast<double>(count * sizeof(double));

  StreamRegion copy(threads, count, [&](std::size_t /*part*/, std::size_t begin, std::size_t end) {
    std::memcpy(a.data() + begin, b.data() + begin, (end - begin) * sizeof(double));
  });
  StreamRegion triad(threads, count, [&](std::size_t /*part*/, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      c[i] = a[i] + 0.5 * b[i];
    }
  });
  // Reads twice the cache, eight sums at a time: one chain of additions would be slower than
  // memory.
  StreamRegion read(threads, count, [&](std::size_t part, std::size_t begin, std::size_t end) {
    double sum[8] = {};
    for (const std::vector<double>* array_read : {&a, &b}) {
      const double* values = array_read->data();
      for (std::size_t i = begin; i + 8 <= end; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
          sum[lane] += values[i + lane];
        }
      }
    }
    sums[part] = std::accumulate(sum, sum + 8, 0.0);
  });

  const Seconds budget(0.15);
  double best = 2.0 * array / measure_fastest(copy, budget, clock).count();
  best = std::max(best, 3.0 * array / measure_fastest(triad, budget, clock).count());
  best = std::max(best, 2.0 * array / measure_fastest(read, budget, clock).count());
  return {best};
}

namespace {

/// Returns a peak, or nothing where no product has a time.
std::optional<FlopsPerSecond> measured_peak(FlopsPerSecond peak) {
  return peak.value > 0.0 ? std::optional(peak) : std::nullopt;
}

}  // namespace

BackendService::BackendService(worker::Backend& backend, BackendService::Options options)
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

void BackendService::measure(const worker::WorkerService::MeasureRequest& request,
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
  ModelBenchmark benchmark(backend_, timing_, request);
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

worker::Reproducer BackendService::reproduce(const worker::Reproducer::Request& request) {
  return backend_.reproduce(request);
}

worker::Trace BackendService::trace(const worker::Trace::Request& request) {
  return trace_model(backend_, timing_.clock(), request);
}

worker::Alternation BackendService::alternate(const worker::Alternation::Request& request) {
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

worker::Profile BackendService::profile(const worker::Profile::Request& request) {
  if (request.layer.empty()) {
    return sample_model(backend_, timing_.clock(), request);
  }
  const model::LayerSpec spec = model::parse_key({request.layer});
  return sample_layer(
      backend_, timing_.clock(), random_operands(spec, request.model.seed), request);
}

results::Calibration BackendService::calibrate() {
  results::Calibration calibration;
  const auto peak_of = [this](model::DataType type, model::LayerSpec::MathClass math) {
    return measure_peak(backend_, type, math, options_.peak_extents, options_.clock);
  };
  const auto of_processor = [this](model::DataType type) {
    return options_.on_processor ? measure_processor_peak(type, options_.threads, options_.clock)
                                 : std::nullopt;
  };
  constexpr auto kStrict = model::LayerSpec::MathClass::kStrict;
  // A stack may be limited to fewer instructions than the machine has.
  calibration.peak_f32 = peak_of(model::DataType::kF32, kStrict);
  calibration.theoretical_f32 = of_processor(model::DataType::kF32);
  calibration.peak_bf16 = std::max(peak_of(model::DataType::kBf16, kStrict),
                                   of_processor(model::DataType::kBf16).value_or(FlopsPerSecond{}));
  calibration.peak_f16 =
      measured_peak(std::max(peak_of(model::DataType::kF16, kStrict),
                             of_processor(model::DataType::kF16).value_or(FlopsPerSecond{})));
  calibration.peak_tf32 =
      measured_peak(peak_of(model::DataType::kF32, model::LayerSpec::MathClass::kTf32));
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
