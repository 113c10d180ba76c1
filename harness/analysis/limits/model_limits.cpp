// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/model_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/analysis/bounds/hardware_bound.hpp"
#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

constexpr std::int64_t kMaxChannels = std::numeric_limits<std::int32_t>::max();

std::int64_t round_up_channels(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block * block;
}

/// Axes of a layer's tensors that hold its channels.
struct ChannelAxes {
  std::size_t input = 0;
  std::size_t weights_in = 0;
  std::size_t weights_out = 0;
  std::size_t result = 0;
};

/// Finds the axes of a convolution without groups, or of a product with one constant matrix.
std::optional<ChannelAxes> find_channels(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1) {
    return std::nullopt;
  }
  const model::TensorType& weights = *spec.inputs[1];
  const std::size_t input = spec.inputs[0]->dims.size();
  const std::size_t result = spec.outputs[0].dims.size();
  if (spec.op == "conv") {
    const bool plain =
        spec.integer("group") == 1 && input > 2 && weights.dims.size() == input && result == input;
    return plain ? std::optional(ChannelAxes{1, 1, 0, 1}) : std::nullopt;
  }
  if (!weights.constant || weights.dims.size() != 2 || input == 0 || result == 0) {
    return std::nullopt;
  }
  if (spec.op == "matmul") {
    return ChannelAxes{input - 1, 0, 1, result - 1};
  }
  if (spec.op == "gemm" && input == 2 && result == 2) {
    const std::size_t turned = spec.integer("trans_b") != 0 ? 1 : 0;
    return ChannelAxes{spec.integer("trans_a") != 0 ? 0U : 1U, turned, 1 - turned, 1};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> channels_per_block(std::string_view variant) {
  constexpr std::int64_t kAvx512 = 16;
  constexpr std::int64_t kAvx = 8;
  if (variant.find("avx512") != std::string_view::npos) {
    return kAvx512;
  }
  return variant.find("avx") != std::string_view::npos ? std::optional(kAvx) : std::nullopt;
}

std::optional<model::LayerSpec> padded_layer(const model::LayerSpec& spec, std::int64_t block) {
  const std::optional<ChannelAxes> axes = block > 0 ? find_channels(spec) : std::nullopt;
  if (!axes) {
    return std::nullopt;
  }
  const std::int64_t in = spec.inputs[0]->dims[axes->input];
  const std::int64_t out = spec.outputs[0].dims[axes->result];
  if (in > kMaxChannels || out > kMaxChannels) {
    return std::nullopt;
  }
  const std::int64_t padded_in = in < block ? in : round_up_channels(in, block);
  const std::int64_t padded_out = round_up_channels(out, block);
  if (padded_in == in && padded_out == out) {
    return std::nullopt;
  }
  model::LayerSpec padded = spec;
  const std::vector<std::int64_t> result = spec.outputs[0].dims;
  padded.inputs[0]->dims[axes->input] = padded_in;
  padded.inputs[1]->dims[axes->weights_in] = padded_in;
  padded.inputs[1]->dims[axes->weights_out] = padded_out;
  padded.outputs[0].dims[axes->result] = padded_out;
  for (std::size_t i = 2; i < padded.inputs.size(); ++i) {
    if (!padded.inputs[i]) {
      continue;
    }
    std::vector<std::int64_t>& dims = padded.inputs[i]->dims;
    if (dims.size() == 1 && dims[0] == out) {
      dims[0] = padded_out;  // the bias
    } else if (dims == result) {
      dims[axes->result] = padded_out;  // what a fused addition reads
    } else {
      return std::nullopt;
    }
  }
  return padded;
}

namespace {

/// Share of a ceiling from which it binds: below, more than half of the time is something else.
constexpr double kBinds = 0.5;

std::optional<double> share_of(const std::optional<Seconds>& least, Seconds time) {
  return least && time > Seconds{} ? std::optional(*least / time) : std::nullopt;
}

/// Returns what binds a step. The ceilings are not known without a calibration, or for a type of
/// products that has no peak.
std::optional<ModelLimits::Limit> find_limit(const ModelLimits::Step& step,
                                             Seconds overhead,
                                             bool ceilings_known) {
  if (overhead >= step.seconds) {
    return ModelLimits::Limit::kOverhead;
  }
  const double compute = step.peak_share.value_or(0.0);
  const double memory = step.bandwidth_share.value_or(0.0);
  if (std::max(compute, memory) >= kBinds) {
    return compute >= memory ? ModelLimits::Limit::kCompute : ModelLimits::Limit::kMemory;
  }
  return ceilings_known ? std::optional(ModelLimits::Limit::kLatency) : std::nullopt;
}

/// Adds what the step's kernel computes beside the point, if its blocks of channels are not full.
void add_block_use(const model::LayerSpec& spec,
                   const model::LayerCost& cost,
                   std::string_view variant,
                   ModelLimits::Step& step) {
  const std::optional<std::int64_t> block = channels_per_block(variant);
  const auto padded = block ? padded_layer(spec, *block) : std::nullopt;
  if (!padded) {
    return;
  }
  step.padded = model::to_key(*padded);
  step.block_use =
      static_cast<double>(cost.macs) / static_cast<double>(model::compute_cost(*padded).macs);
}

ModelLimits::Step compute_step(const PartitionStep& step,
                               const std::optional<results::Calibration>& calibration) {
  ModelLimits::Step result;
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

std::string_view to_text(ModelLimits::Limit limit) {
  switch (limit) {
    case ModelLimits::Limit::kCompute:
      return "compute";
    case ModelLimits::Limit::kMemory:
      return "memory";
    case ModelLimits::Limit::kOverhead:
      return "overhead";
    case ModelLimits::Limit::kLatency:
      return "latency";
  }
  return "";
}

std::optional<double> ModelLimits::Step::idle_in_last_wave() const {
  return waves ? std::optional(std::ceil(*waves) - *waves) : std::nullopt;
}

double ModelLimits::share(std::optional<ModelLimits::Limit> wanted) const {
  Seconds all{};
  Seconds bound{};
  for (const ModelLimits::Step& step : steps) {
    all += step.seconds;
    bound += step.limit == wanted ? step.seconds : Seconds{};
  }
  return all > Seconds{} ? bound / all : 0.0;
}

void add_padded_times(const ResultSet& results, ModelLimits& limits) {
  for (ModelLimits::Step& step : limits.steps) {
    const auto time = step.padded.text.empty()
                          ? std::nullopt
                          : results.best(step.padded, results::CacheMode::kNone);
    step.padded_seconds = time ? std::optional(time->time.median) : std::nullopt;
  }
}

void add_waves(const ResultSet& results,
               const results::Environment& environment,
               ModelLimits& limits) {
  for (ModelLimits::Step& step : limits.steps) {
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
      limits.limit = floor->compute >= floor->transfer ? ModelLimits::Limit::kCompute
                                                       : ModelLimits::Limit::kMemory;
    }
  }
  for (const PartitionStep& step : bounds.cover) {
    if (step.time && step.time->time.median > Seconds{}) {
      limits.steps.push_back(compute_step(step, calibration));
    }
  }
  std::stable_sort(limits.steps.begin(),
                   limits.steps.end(),
                   [](const ModelLimits::Step& left, const ModelLimits::Step& right) {
                     return left.seconds > right.seconds;
                   });
  return limits;
}

namespace {

/// What a multiprocessor holds at once (CUDA Programming Guide, "Compute Capabilities").
struct Multiprocessor {
  std::string_view architecture;
  std::int64_t threads;
  std::int64_t blocks;
  std::int64_t shared_bytes;
  std::int64_t reserved_bytes;  ///< of shared memory, by the system, in each block
};

constexpr std::array kMultiprocessors = std::to_array<Multiprocessor>({
    {"sm_70", 2048, 32, 96 << 10, 0},
    {"sm_75", 1024, 16, 64 << 10, 0},
    {"sm_80", 2048, 32, 164 << 10, 1 << 10},
    {"sm_86", 1536, 16, 100 << 10, 1 << 10},
    {"sm_89", 1536, 24, 100 << 10, 1 << 10},
    {"sm_90", 2048, 32, 228 << 10, 1 << 10},
    {"sm_100", 2048, 32, 228 << 10, 1 << 10},
});

// The same on all of them.
constexpr std::int64_t kParts = 4;  // of a multiprocessor: a block's warps are dealt out to them
constexpr std::int64_t kRegistersOfPart = 16'384;
constexpr std::int64_t kRegisterUnit = 256;  // in which a warp gets its registers
constexpr std::int64_t kWarp = 32;           // threads

/// Launch of a kernel: its thread blocks, and what each of them needs.
struct Launch {
  double blocks = 0.0;
  std::int64_t threads = 0;
  std::int64_t registers = 0;  ///< of a thread
  std::int64_t shared_bytes = 0;
};

std::int64_t round_up(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit * unit;
}

/// Returns the largest launch of a row: that with the most threads. Absent: the list cannot be
/// read, or is empty.
std::optional<Launch> largest_launch(const std::string& kernels) {
  std::optional<Launch> largest;
  try {
    for (const nlohmann::json& kernel : nlohmann::json::parse(kernels)) {
      Launch launch{.blocks = 1.0,
                    .threads = 1,
                    .registers = kernel.at("registers").get<std::int32_t>(),
                    .shared_bytes = kernel.at("shared_bytes").get<std::int32_t>()};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        launch.blocks *= kernel.at("grid").at(axis).get<std::int32_t>();
        launch.threads *= std::clamp(kernel.at("block").at(axis).get<std::int32_t>(), 1, 1024);
      }
      const auto threads_of = [](const Launch& each) {
        return each.blocks * static_cast<double>(each.threads);
      };
      if (!largest || threads_of(launch) > threads_of(*largest)) {
        largest = launch;
      }
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return largest;
}

/// Returns how many blocks of a launch a multiprocessor holds at once.
std::int64_t blocks_at_once(const Multiprocessor& unit, const Launch& launch) {
  const std::int64_t warps = round_up(launch.threads, kWarp) / kWarp;
  std::int64_t blocks = std::min(unit.blocks, unit.threads / (warps * kWarp));
  if (launch.registers > 0) {
    const std::int64_t of_warp = round_up(launch.registers * kWarp, kRegisterUnit);
    blocks = std::min(blocks, kRegistersOfPart / of_warp * kParts / round_up(warps, kParts));
  }
  if (launch.shared_bytes > 0) {
    blocks = std::min(blocks, unit.shared_bytes / (launch.shared_bytes + unit.reserved_bytes));
  }
  return blocks;
}

template <typename Number>
std::optional<Number> number_in(const results::Facts& texts, const char* name) {
  const auto found = texts.find(name);
  Number number{};
  if (found == texts.end() ||
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), number)
              .ec != std::errc() ||
      !(number > 0)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<double> count_waves(const results::Attributes& row,
                                  const results::Environment& environment) {
  if (const auto waves = number_in<double>(row, "waves")) {
    return waves;
  }
  const auto kernels = row.find("kernels");
  const auto architecture = environment.facts.find("gpu.architecture");
  const auto count = number_in<std::int64_t>(environment.facts, "gpu.multiprocessors");
  if (kernels == row.end() || architecture == environment.facts.end() || !count) {
    return std::nullopt;
  }
  const auto* const unit = std::find_if(
      kMultiprocessors.begin(), kMultiprocessors.end(), [&](const Multiprocessor& each) {
        return each.architecture == architecture->second;
      });
  const std::optional<Launch> launch = largest_launch(kernels->second);
  if (unit == kMultiprocessors.end() || !launch || launch->blocks <= 0.0) {
    return std::nullopt;
  }
  const std::int64_t at_once = blocks_at_once(*unit, *launch);
  return at_once > 0 ? std::optional(launch->blocks / static_cast<double>(at_once * *count))
                     : std::nullopt;
}

}  // namespace plumb::analysis
