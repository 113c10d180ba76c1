// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

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
  const std::optional<ModelPartition::Priced> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const model::Graph& lower = input.graph_in(type.name);
  std::vector<PartitionStep> steps =
      input.partition_in(type.name, ModelPartition::Mode::kPlain).steps;
  const bool any = !channels_last || take_channels_last(input.results, steps) > 0;
  const ModelPartition::Priced half =
      priced_partition(lower, input.results, std::move(steps), type.name);
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

WhatIfResult int8_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "convolutions and products with constant weights in 8-bit integers, fused, fastest variants, "
      "hot; against the layers as written in f32";
  if (!rewrite::has_form(input.graph, rewrite::kInt8)) {
    result.applies = false;
    result.why_not = "a step of training is not executed in 8-bit integers";
    return result;
  }
  const std::optional<ModelPartition::Priced> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const ModelPartition::Priced eight_bit =
      priced_partition(input.graph_in(rewrite::kInt8),
                       input.results,
                       input.partition_in(rewrite::kInt8, ModelPartition::Mode::kPlain).steps,
                       rewrite::kInt8);
  if (!eight_bit.why_not.empty()) {
    result.why_not = eight_bit.why_not;
    return result;
  }
  const rewrite::FusedGraph lower = rewrite::int8_graph(input.graph);
  if (lower.quantization.weights.empty()) {
    result.why_not = "no layer of this model has a form in 8-bit integers";
    result.applies = false;
    return result;
  }
  std::map<model::LayerId, Seconds> alone;
  for (const PartitionStep& step : full->steps) {
    alone[step.layers.front()] = step.time->time.median;
  }
  for (const PartitionStep& step : eight_bit.steps) {
    const model::LayerId id = step.layers.front();
    if (!model::is_integer_product(lower.graph.layers[id].spec)) {
      continue;
    }
    Seconds replaced{};
    for (const model::LayerId origin : lower.origins[id]) {
      replaced += alone[origin];
    }
    result.layers.push_back({name_of(input.graph, lower.origins[id]),
                             step.key,
                             replaced,
                             step.time->time.median,
                             step.time->variant});
  }
  result.prerequisites = {"weights rounded to 8 bits once, with a scale for each output channel",
                          "a scale for each activation, from inputs that the model will see",
                          "accuracy checked on the task"};
  conclude(result, full->sum.time, eight_bit.sum.time);
  return result;
}

namespace {

/// Returns why a padded layer has no time.
std::string why_no_time(const WhatIfInput& input, const model::LayerKey& padded) {
  const auto failure = input.padded != nullptr ? input.padded->failure(padded) : std::nullopt;
  return failure ? fmt::format("{}: {}", to_text(failure->kind), failure->reason)
                 : "plumb whatif --measure measures it";
}

}  // namespace

WhatIfResult padded_channels_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "channels in whole blocks of the kernels, steps without blocks as they are; fused, fastest "
      "variants, hot";
  if (!input.instance.training.empty()) {
    result.applies = false;
    result.why_not = "gradients are not padded: run without --training";
    return result;
  }
  const ModelPartition::Priced before =
      priced_partition(input.graph,
                       input.results,
                       input.partition_in({}, ModelPartition::Mode::kFusion).steps,
                       input.instance.dtype);
  std::vector<PartitionStep> after = before.steps;
  std::int64_t widest = 0;
  std::size_t padded = 0;
  std::size_t missing = 0;
  std::string first_missing;
  for (PartitionStep& step : after) {
    const auto block = step.time ? channels_per_block(step.time->variant) : std::nullopt;
    const auto spec = block ? padded_layer(model::parse_key(step.key), *block) : std::nullopt;
    if (!spec) {
      continue;
    }
    ++padded;
    widest = std::max(widest, *block);
    const Seconds as_it_is = step.time->time.median;
    step.key = model::to_key(*spec);
    step.time = input.padded != nullptr ? input.padded->best(step.key, results::CacheMode::kNone)
                                        : std::nullopt;
    const std::string name = name_of(input.graph, step.layers);
    if (step.time) {
      result.layers.push_back({name,
                               step.key,
                               as_it_is,
                               step.time->time.median,
                               fmt::format("whole blocks of {}", *block)});
    } else if (missing++ == 0) {
      first_missing = fmt::format("{}: {}", name, why_no_time(input, step.key));
    }
  }
  if (padded == 0) {
    result.applies = false;
    result.why_not = fmt::format(
        "{}; another tile is another variant, which best_variant answers",
        input.on_device.value_or(false)
            ? "variants of a GPU do not say which channels fill their tiles: reports show its waves"
            : "no step has blocks that are not full, by the names of the variants");
    return result;
  }
  result.why_not = before.why_not;
  if (result.why_not.empty() && missing > 0) {
    result.why_not = fmt::format("no time with padded channels for {} of {} steps, first {}",
                                 missing,
                                 padded,
                                 first_missing);
  }
  if (!result.why_not.empty()) {
    result.layers.clear();
    return result;
  }
  result.prerequisites = {
      fmt::format("a model with channels in multiples of {}: no mode pads them", widest),
      "the layers around padded, too: those without blocks then take longer than they are priced"};
  conclude(result, before.sum.time, sum_steps(after).time);
  return result;
}

namespace {

/// Answers for a mode with channels last. Its prediction comes with its execution.
WhatIfResult unpredicted(std::string_view mode, std::string_view words) {
  WhatIfResult result;
  result.mode = words;
  result.why_not = fmt::format(
      "rows do not hold the layouts of the library's variants: execute the model in the mode {} "
      "first",
      mode);
  result.prerequisites = {"inputs in the channels-last layout, or one reorder of each input"};
  return result;
}

}  // namespace

WhatIfResult channels_last_what_if(const WhatIfInput& /*input*/) {
  return unpredicted("channels_last",
                     "channels last in every layer that accepts them; the library's own choice "
                     "among these variants");
}

WhatIfResult channels_last_f16_what_if(const WhatIfInput& input) {
  WhatIfResult result = unpredicted("channels_last+f16",
                                    "f16 tensors, accumulation in f32, channels last in every "
                                    "layer that accepts them; the library's own choice");
  if (input.instance.dtype != "f32") {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    result.applies = false;
  }
  result.prerequisites.emplace_back("all that f16 needs");
  return result;
}

}  // namespace plumb::analysis
