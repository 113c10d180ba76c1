// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/mode_facts.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/labels/variant_id.hpp"

namespace plumb::analysis {
namespace {

/// A floating type in which an f32 model may run.
struct OtherType {
  std::string_view name;
  std::string_view mode;      ///< what would be switched on, in words
  std::string_view change;    ///< what somebody must do
  std::string_view accuracy;  ///< what it may cost
  std::string_view hardware;  ///< that computes faster in it than in f32
  std::optional<FlopsPerSecond> (*peak)(const results::Calibration& calibration);
};

constexpr OtherType kBf16{
    "bf16",
    "bf16 tensors, accumulation in f32",
    "weights converted to bf16 once, inputs and outputs at the edges of the model",
    "bf16 keeps 8 bits of mantissa",
    "a CPU with bf16 arithmetic (AVX512_BF16 or AMX)",
    [](const results::Calibration& calibration) { return std::optional(calibration.peak_bf16); }};

constexpr OtherType kF16{
    "f16",
    "f16 tensors, accumulation in f32",
    "weights converted to f16 once, inputs and outputs at the edges of the model",
    "f16 keeps 11 bits of mantissa and ends at 65504",
    "hardware with f16 arithmetic (tensor cores, AVX512_FP16 or AMX)",
    [](const results::Calibration& calibration) { return calibration.peak_f16; }};

constexpr OtherType kTf32{
    "tf32",
    "products with their factors rounded to TF32, all tensors in f32",
    "TF32 allowed where the library or the framework is set up",
    "TF32 keeps 11 bits of mantissa",
    "a GPU with TF32 tensor cores (Ampere or later)",
    [](const results::Calibration& calibration) { return calibration.peak_tf32; }};

/// Returns whether the calibration shows that products in a type are no faster than in f32.
bool is_no_faster(const OtherType& type, const results::Calibration& calibration) {
  const std::optional<FlopsPerSecond> peak = type.peak(calibration);
  const FlopsPerSecond f32 =
      std::max(calibration.peak_f32, calibration.theoretical_f32.value_or(FlopsPerSecond{}));
  return peak && *peak <= f32;
}

/// Gives each step its fastest variant with channels last. Steps without one keep theirs. Returns
/// how many have one.
std::size_t take_channels_last(const ResultSet& results, std::vector<PartitionStep>& steps) {
  std::size_t taken = 0;
  for (PartitionStep& step : steps) {
    for (const KeyTime& time : results.variant_times(step.key, results::CacheMode::kNone)) {
      if (results::VariantId(time.variant).has_channels_last()) {
        step.time = time;
        ++taken;
        break;
      }
    }
  }
  return taken;
}

/// Predicts the saving if the model ran in another floating type, and perhaps with channels last.
WhatIfResult other_type(const WhatIfInput& input, const OtherType& type, bool channels_last) {
  WhatIfResult result;
  result.mode = fmt::format("{}; not fused, fastest variants{}, hot",
                            type.mode,
                            channels_last ? " with channels last" : "");
  const std::optional<PricedPartition> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const model::Graph& lower = input.graph_in(type.name);
  std::vector<PartitionStep> steps = input.partition_in(type.name, PartitionMode::kPlain).steps;
  const bool any = !channels_last || take_channels_last(input.results, steps) > 0;
  const PricedPartition half = priced_partition(lower, input.results, std::move(steps), type.name);
  if (!half.why_not.empty() || !any) {
    result.why_not =
        !half.why_not.empty()
            ? half.why_not
            : fmt::format(
                  "no variant with channels last was timed in {}: execute the model in the "
                  "mode {}+channels_last first",
                  type.name,
                  type.name);
    return result;
  }
  // Not of a step of training: it has casts of its weights besides.
  const bool alike = full->steps.size() == half.steps.size();
  for (std::size_t i = 0; alike && i < full->steps.size(); ++i) {
    const PartitionStep& from = full->steps[i];
    const PartitionStep& to = half.steps[i];
    if (from.key != to.key) {
      result.layers.push_back({name_of(lower, to.layers),
                               to.key,
                               from.time->time.median,
                               to.time->time.median,
                               fmt::format("{} → {}", from.time->variant, to.time->variant)});
    }
  }
  result.prerequisites = {std::string(type.change),
                          fmt::format("accuracy checked on the task: {}", type.accuracy)};
  if (channels_last) {
    result.prerequisites.emplace_back(
        "inputs in the channels-last layout, or one reorder of each input");
  }
  if (input.results.calibration() && is_no_faster(type, *input.results.calibration())) {
    result.prerequisites.push_back(fmt::format("{}: here it is no faster than f32", type.hardware));
  }
  conclude(result, full->sum.time, half.sum.time);
  return result;
}

}  // namespace

WhatIfResult bf16_what_if(const WhatIfInput& input) {
  return other_type(input, kBf16, false);
}

WhatIfResult channels_last_bf16_what_if(const WhatIfInput& input) {
  return other_type(input, kBf16, true);
}

WhatIfResult f16_what_if(const WhatIfInput& input) {
  return other_type(input, kF16, false);
}

WhatIfResult tf32_what_if(const WhatIfInput& input) {
  return other_type(input, kTf32, false);
}

}  // namespace plumb::analysis
