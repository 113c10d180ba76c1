// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/hardware_bound.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::analysis {
namespace {

bool reads_f8(const model::LayerSpec& spec) {
  return std::any_of(spec.inputs.begin(), spec.inputs.end(), [](const auto& input) {
    return input.has_value() && model::is_f8(input->dtype);
  });
}

/// Types of products that differ in their peak.
enum class ProductKind { kNone, kF32, kTf32, kBf16, kF16, kInt8, kOther };

/// Returns the kind of a layer's products. Other: the peak of 8-bit floats and of wider integers is
/// not measured.
ProductKind product_kind(const model::LayerSpec& spec, const model::LayerCost& cost) {
  if (cost.macs <= 0) {
    return ProductKind::kNone;
  }
  if (model::is_integer_product(spec)) {
    return ProductKind::kInt8;
  }
  if (!model::is_floating(spec.outputs.front().dtype) || reads_f8(spec)) {
    return ProductKind::kOther;
  }
  switch (spec.outputs.front().dtype) {
    case model::DataType::kBf16:
      return ProductKind::kBf16;
    case model::DataType::kF16:
      return ProductKind::kF16;
    default:
      return spec.math == model::LayerSpec::MathClass::kTf32 ? ProductKind::kTf32
                                                             : ProductKind::kF32;
  }
}

/// Peaks of a calibration, and the kinds of products that they limit.
struct ProductPeaks {
  double f32 = 0.0;
  std::optional<FlopsPerSecond> tf32;
  double bf16 = 0.0;
  std::optional<FlopsPerSecond> f16;
  std::optional<FlopsPerSecond> int8;

  explicit ProductPeaks(const results::Calibration& calibration)
      : f32(std::max(calibration.peak_f32.value,
                     calibration.theoretical_f32.value_or(FlopsPerSecond{}).value)),
        tf32(calibration.peak_tf32),
        bf16(std::max(f32, calibration.peak_bf16.value)),
        f16(calibration.peak_f16),
        int8(calibration.peak_int8) {}

  /// Absent: not known.
  [[nodiscard]] std::optional<FlopsPerSecond> of(ProductKind kind) const {
    switch (kind) {
      case ProductKind::kF32:
        return FlopsPerSecond{f32};
      case ProductKind::kTf32:
        return widened(tf32);
      case ProductKind::kBf16:
        return FlopsPerSecond{bf16};
      case ProductKind::kF16:
        return widened(f16);
      case ProductKind::kInt8:
        return widened(int8);
      case ProductKind::kNone:
      case ProductKind::kOther:
        break;
    }
    return std::nullopt;
  }

 private:
  /// Numbers of fewer bits can be widened and multiplied as f32: no machine is slower in them.
  [[nodiscard]] std::optional<FlopsPerSecond> widened(
      const std::optional<FlopsPerSecond>& peak) const {
    return peak ? std::optional(FlopsPerSecond{std::max(peak->value, f32)}) : std::nullopt;
  }
};

/// Raises a known peak to what was reached. What a layer reached alone is no ceiling.
void raise_known(std::optional<FlopsPerSecond>& peak, FlopsPerSecond reached) {
  if (peak) {
    peak = std::max(*peak, reached);
  }
}

/// Counts the operations of a layer's products by the cheapest algorithm class. Other operations do
/// not count, since a rewrite may make them disappear.
Flops minimum_of_products(const model::LayerCost& cost) {
  const double rest = cost.flops.value - 2.0 * static_cast<double>(cost.macs);
  return Flops{cost.minimum_flops.value - rest};
}

bool counts(const results::Measurement& row) {
  return row.purpose != results::Purpose::kRace && row.outcome.timed() && row.summary.n > 0 &&
         row.corrected().median > Seconds(0.0);
}

/// Returns how many bytes of its i-th operand a layer must read. `whole` is the operand's size.
/// `passed_on` is how many bytes of the layer's result its readers read.
std::int64_t demand(const model::Layer& layer, std::size_t i, Bytes whole, std::int64_t passed_on) {
  if (layer.role == model::Layer::Role::kView) {
    return i == 0 ? std::min(whole.value, passed_on) : 0;
  }
  if (layer.role != model::Layer::Role::kCompute || i >= layer.spec.inputs.size()) {
    return 0;  // folded, unknown, or an operand that only configures
  }
  const std::string& op = layer.spec.op;
  if ((op == "batch_norm" && i > 0) || (op == "binary" && layer.spec.inputs[i]->constant)) {
    return 0;  // may be folded into the weights of another layer
  }
  if (i == 0 && (op == "gather" || op == "slice" || op == "split")) {
    std::int64_t taken = 0;
    for (const model::TensorType& output : layer.spec.outputs) {
      taken += model::byte_size(output).value;
    }
    return std::min(whole.value, taken);
  }
  return whole.value;
}

/// Returns how many bytes of each value must be read. Computed from the end of the model to its
/// beginning.
std::vector<std::int64_t> bytes_read(const model::Graph& graph) {
  std::vector<std::int64_t> read(graph.values.size(), 0);
  for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) {
    std::int64_t passed_on = 0;
    for (const model::ValueId output : layer->outputs) {
      passed_on = std::max(passed_on, read[output]);
    }
    for (std::size_t i = 0; i < layer->inputs.size(); ++i) {
      if (layer->inputs[i]) {
        const model::ValueId input = *layer->inputs[i];
        const Bytes whole = model::byte_size(graph.values[input].type);
        read[input] = std::max(read[input], demand(*layer, i, whole, passed_on));
      }
    }
  }
  return read;
}

}  // namespace

Bytes compulsory_bytes(const model::Graph& graph) {
  const std::vector<std::int64_t> read = bytes_read(graph);
  std::vector<bool> produced_by_run(graph.values.size(), false);
  for (const model::Layer& layer : graph.layers) {
    for (const model::ValueId output : layer.outputs) {
      produced_by_run[output] = layer.role != model::Layer::Role::kFolded;
    }
  }
  Bytes total;
  for (model::ValueId value = 0; value < graph.values.size(); ++value) {
    if (!produced_by_run[value]) {
      total += Bytes{read[value]};
    }
  }
  for (const model::ValueId output : graph.outputs) {
    if (produced_by_run[output]) {
      total += model::byte_size(graph.values[output].type);
    }
  }
  return total;
}

results::Calibration with_reached_peaks(results::Calibration calibration,
                                        std::span<const results::StoredMeasurement> rows) {
  std::unordered_map<model::LayerKey, Seconds> fastest;
  for (const results::StoredMeasurement& row : rows) {
    if (counts(row.measurement)) {
      const Seconds median = row.measurement.corrected().median;
      const auto [at, added] = fastest.try_emplace(row.measurement.key, median);
      at->second = std::min(at->second, median);
    }
  }
  for (const auto& [key, time] : fastest) {
    try {
      const model::LayerSpec spec = model::parse_key(key);
      const model::LayerCost cost = model::compute_cost(spec);
      const FlopsPerSecond reached{minimum_of_products(cost).value / time.count()};
      switch (product_kind(spec, cost)) {
        case ProductKind::kF32:
          calibration.peak_f32 = std::max(calibration.peak_f32, reached);
          break;
        case ProductKind::kTf32:
          raise_known(calibration.peak_tf32, reached);
          break;
        case ProductKind::kBf16:
          calibration.peak_bf16 = std::max(calibration.peak_bf16, reached);
          break;
        case ProductKind::kF16:
          raise_known(calibration.peak_f16, reached);
          break;
        case ProductKind::kInt8:
          raise_known(calibration.peak_int8, reached);
          break;
        case ProductKind::kNone:
        case ProductKind::kOther:
          break;
      }
    } catch (const Error&) {
      continue;  // an opaque key, of an imported result
    }
  }
  return calibration;
}

std::optional<Seconds> minimum_product_time(const model::LayerSpec& spec,
                                            const model::LayerCost& cost,
                                            const results::Calibration& calibration) {
  if (cost.macs == 0) {
    return std::nullopt;
  }
  const auto peak = ProductPeaks(calibration).of(product_kind(spec, cost));
  return peak && peak->value > 0.0 ? std::optional(minimum_of_products(cost) / *peak)
                                   : std::nullopt;
}

std::optional<HardwareBound> hardware_floor(const model::Graph& graph,
                                            const results::Calibration& calibration) {
  if (calibration.memory_bandwidth.value <= 0.0 || ProductPeaks(calibration).f32 <= 0.0) {
    return std::nullopt;
  }
  HardwareBound floor;
  floor.compulsory = compulsory_bytes(graph);
  const Bytes beyond{
      std::max<std::int64_t>(0, floor.compulsory.value - calibration.last_level_cache.value)};
  if (beyond.value > 0) {
    floor.transfer = beyond / calibration.memory_bandwidth;
  }
  for (const model::Layer& layer : graph.layers) {
    if (layer.role != model::Layer::Role::kCompute || layer.cost.macs == 0) {
      continue;
    }
    const auto time = minimum_product_time(layer.spec, layer.cost, calibration);
    if (!time) {
      floor.complete = false;
      continue;
    }
    floor.compute = floor.compute.value_or(Seconds{}) + *time;
  }
  return floor;
}

}  // namespace plumb::analysis
