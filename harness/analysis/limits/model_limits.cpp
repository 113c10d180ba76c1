// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/model_limits.hpp"

#include <algorithm>
#include <cmath>

#include "harness/analysis/bounds/hardware_bound.hpp"
#include "harness/analysis/limits/padded_layer.hpp"
#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

/// Share of a ceiling from which it binds: below, more than half of the time is something else.
constexpr double kBinds = 0.5;

std::optional<double> share_of(const std::optional<Seconds>& least, Seconds time) {
  return least && time > Seconds{} ? std::optional(*least / time) : std::nullopt;
}

/// Returns what binds a step. The ceilings are not known without a calibration, or for a type of
/// products that has no peak.
std::optional<Limit> find_limit(const StepLimit& step, Seconds overhead, bool ceilings_known) {
  if (overhead >= step.seconds) {
    return Limit::kOverhead;
  }
  const double compute = step.peak_share.value_or(0.0);
  const double memory = step.bandwidth_share.value_or(0.0);
  if (std::max(compute, memory) >= kBinds) {
    return compute >= memory ? Limit::kCompute : Limit::kMemory;
  }
  return ceilings_known ? std::optional(Limit::kLatency) : std::nullopt;
}

/// Adds what the step's kernel computes beside the point, if its blocks of channels are not full.
void add_block_use(const model::LayerSpec& spec,
                   const model::LayerCost& cost,
                   std::string_view variant,
                   StepLimit& step) {
  const std::optional<std::int64_t> block = channels_per_block(variant);
  const auto padded = block ? padded_layer(spec, *block) : std::nullopt;
  if (!padded) {
    return;
  }
  step.padded = model::to_key(*padded);
  step.block_use =
      static_cast<double>(cost.macs) / static_cast<double>(model::compute_cost(*padded).macs);
}

StepLimit compute_step(const PartitionStep& step,
                       const std::optional<results::Calibration>& calibration) {
  StepLimit result;
  result.layers = step.layers;
  result.key = step.key;
  result.seconds = step.time->time.median;
  const Seconds overhead = step.time->raw.median - step.time->time.median;
  bool ceilings_known = false;
  try {
    const model::LayerSpec spec = model::parse_key(step.key);
    const model::LayerCost cost = model::compute_cost(spec);
    const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
    if (bytes.value > 0) {
      result.intensity = cost.flops.value / static_cast<double>(bytes.value);
    }
    if (calibration && calibration->memory_bandwidth.value > 0.0) {
      const std::optional<Seconds> products = minimum_product_time(spec, cost, *calibration);
      result.peak_share = share_of(products, result.seconds);
      result.bandwidth_share = share_of(bytes / calibration->memory_bandwidth, result.seconds);
      ceilings_known = cost.macs == 0 || products;
    }
    add_block_use(spec, cost, step.time->variant, result);
  } catch (const Error&) {
    // An opaque key, of an imported result.
  }
  result.limit = find_limit(result, overhead, ceilings_known);
  return result;
}

}  // namespace

std::string_view to_text(Limit limit) {
  switch (limit) {
    case Limit::kCompute:
      return "compute";
    case Limit::kMemory:
      return "memory";
    case Limit::kOverhead:
      return "overhead";
    case Limit::kLatency:
      return "latency";
  }
  return "";
}

std::optional<double> StepLimit::idle_in_last_wave() const {
  return waves ? std::optional(std::ceil(*waves) - *waves) : std::nullopt;
}

double ModelLimits::share(std::optional<Limit> wanted) const {
  Seconds all{};
  Seconds bound{};
  for (const StepLimit& step : steps) {
    all += step.seconds;
    bound += step.limit == wanted ? step.seconds : Seconds{};
  }
  return all > Seconds{} ? bound / all : 0.0;
}

void add_padded_times(const ResultSet& results, ModelLimits& limits) {
  for (StepLimit& step : limits.steps) {
    const auto time = step.padded.text.empty()
                          ? std::nullopt
                          : results.best(step.padded, results::CacheMode::kNone);
    step.padded_seconds = time ? std::optional(time->time.median) : std::nullopt;
  }
}

void add_waves(const ResultSet& results,
               const results::Environment& environment,
               ModelLimits& limits) {
  for (StepLimit& step : limits.steps) {
    const auto time = results.best(step.key, results::CacheMode::kNone);
    for (const results::StoredMeasurement* const row : results.rows_of(step.key)) {
      if (time && row->row == time->row) {
        step.waves = count_waves(row->measurement.attributes, environment);
      }
    }
  }
}

ModelLimits compute_limits(const model::Graph& graph,
                           const ResultSet& results,
                           const ModelBounds& bounds) {
  ModelLimits limits;
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      limits.operations += layer.cost.flops;
    }
  }
  limits.compulsory = compulsory_bytes(graph);
  if (limits.compulsory.value > 0) {
    limits.intensity = limits.operations.value / static_cast<double>(limits.compulsory.value);
  }
  const std::optional<results::Calibration>& calibration = results.reached_calibration();
  if (calibration && calibration->memory_bandwidth.value > 0.0) {
    const double peak = std::max(calibration->peak_f32.value,
                                 calibration->theoretical_f32.value_or(FlopsPerSecond{}).value);
    limits.ridge = peak / calibration->memory_bandwidth.value;
    if (const std::optional<HardwareBound> floor = hardware_floor(graph, *calibration);
        floor && floor->seconds()) {
      limits.limit = floor->compute >= floor->transfer ? Limit::kCompute : Limit::kMemory;
    }
  }
  for (const PartitionStep& step : bounds.cover) {
    if (step.time && step.time->time.median > Seconds{}) {
      limits.steps.push_back(compute_step(step, calibration));
    }
  }
  std::stable_sort(
      limits.steps.begin(), limits.steps.end(), [](const StepLimit& left, const StepLimit& right) {
        return left.seconds > right.seconds;
      });
  return limits;
}

}  // namespace plumb::analysis
