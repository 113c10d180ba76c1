// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::analysis {
namespace {

using results::ExecutionMode;

constexpr std::array kOptions = std::to_array<bool ExecutionMode::*>({&ExecutionMode::best_variant,
                                                                      &ExecutionMode::fusion,
                                                                      &ExecutionMode::bf16,
                                                                      &ExecutionMode::f16,
                                                                      &ExecutionMode::tf32,
                                                                      &ExecutionMode::int8});

/// Returns a mode with one option more. Absent: it is on, or another type is.
std::optional<ExecutionMode> with_option(ExecutionMode mode, bool ExecutionMode::*option) {
  const bool is_type = option != &ExecutionMode::best_variant && option != &ExecutionMode::fusion;
  if (mode.*option || (is_type && !mode.other_type().empty())) {
    return std::nullopt;
  }
  mode.*option = true;
  mode.fusion = mode.fusion || mode.int8;  // 8 bits begin with a fused model
  return mode;
}

/// Returns whether a mode has more than one option that another could be without.
bool is_combined(const ExecutionMode& mode) {
  const bool fusion = mode.fusion && !mode.int8;
  return static_cast<int>(mode.best_variant) + static_cast<int>(fusion) +
             static_cast<int>(!mode.other_type().empty()) >
         1;
}

WhatIfResult describe(const ExecutionMode& mode,
                      const measure::MeasuredTime& baseline,
                      const measure::MeasuredTime& predicted) {
  WhatIfResult result;
  result.name = to_text(mode);
  result.execution_mode = result.name;
  result.combination = true;
  result.mode =
      fmt::format("{}, priced by its layers, hot; against the library's own choices", result.name);
  result.prerequisites = {"all that its parts need"};
  conclude(result, baseline, predicted);
  return result;
}

}  // namespace

std::vector<WhatIfResult> find_combinations(const WhatIfInput& input,
                                            std::span<const std::string> known) {
  ExecutionMode now;
  const std::optional<measure::MeasuredTime> baseline = price_mode(input, now);
  if (!baseline) {
    return {};
  }
  std::map<ExecutionMode, measure::MeasuredTime> priced;
  for (measure::MeasuredTime least = *baseline;;) {
    std::optional<ExecutionMode> best;
    for (bool ExecutionMode::*const option : kOptions) {
      const std::optional<ExecutionMode> mode = with_option(now, option);
      const std::optional<measure::MeasuredTime> time =
          mode ? price_mode(input, *mode) : std::nullopt;
      if (!time) {
        continue;
      }
      priced.emplace(*mode, *time);
      if (time->median < least.median) {
        best = mode;
        least = *time;
      }
    }
    if (!best) {
      break;
    }
    now = *best;
  }
  std::vector<WhatIfResult> found;
  for (const auto& [mode, time] : priced) {
    const bool is_known = std::find(known.begin(), known.end(), to_text(mode)) != known.end();
    if (is_combined(mode) && !is_known && time.median < baseline->median) {
      found.push_back(describe(mode, *baseline, time));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return *left.predicted < *right.predicted;
  });
  found.resize(std::min(found.size(), kMaxCombinations));
  return found;
}

namespace {

// The table of what-ifs: docs/guides/add-a-what-if.md.
constexpr std::array kWhatIfs = std::to_array<WhatIf>({
    {"best_variant",
     "what if the library picked its fastest variant for every layer?",
     "best_variant",
     best_variant_what_if},
    {"fusion", "what if layers were fused wherever the library can?", "fusion", fusion_what_if},
    {"channels_last",
     "what if images had their channels last?",
     "channels_last",
     channels_last_what_if},
    {"bf16", "what if the model ran in bf16?", "bf16", bf16_what_if},
    {"f16", "what if the model ran in f16?", "f16", f16_what_if},
    {"channels_last+f16",
     "what if the model ran in f16 with channels last?",
     "channels_last+f16",
     channels_last_f16_what_if},
    {"bf16+channels_last",
     "what if the model ran in bf16 with channels last?",
     "bf16+channels_last",
     channels_last_bf16_what_if},
    {"tf32", "what if products of f32 were computed in TF32?", "tf32", tf32_what_if},
    {"int8", "what if products were computed in 8-bit integers?", "fusion+int8", int8_what_if},
    {"micro_batch",
     "what if batches of convolutions were divided?",
     "micro_batch",
     micro_batch_what_if,
     "plain",
     false},
    {"padded_channels",
     "what if channels filled whole blocks of the kernels?",
     "",
     padded_channels_what_if,
     "fusion"},
    {"graph_capture",
     "what if the launches of a device were one captured graph?",
     "captured",
     graph_capture_what_if,
     "eager",
     false},
    {"parallel_branches",
     "what if branches ran side by side?",
     "parallel_branches",
     parallel_branches_what_if},
    {"co_schedule",
     "what if steps shared the processors, as Rammer schedules them?",
     "fusion+parallel_branches",
     co_schedule_what_if,
     "fusion",
     false},
    {"weight_gradients",
     "what if gradients of weights were computed beside those of data?",
     "parallel_branches",
     weight_gradients_what_if},
    {"checkpointing",
     "what if the backward pass computed values again instead of keeping them?",
     "checkpointing",
     checkpointing_what_if},
    {"folded_norms",
     "what if frozen batch normalisations were folded into convolutions?",
     "folded_norms",
     folded_norms_what_if},
    {"fused_optimizer",
     "what if one layer updated many weights?",
     "fused_optimizer",
     [](const WhatIfInput& input) { return fusion_family_what_if(input, "fused_optimizer"); },
     "plain",
     true,
     true},
    {"gemm_bias",
     "what if products took their bias and its gradient along?",
     "gemm_bias",
     [](const WhatIfInput& input) { return fusion_family_what_if(input, "gemm_bias"); },
     "plain",
     true,
     true},
    {"gemm_gelu",
     "what if products took GELU and its gradient along?",
     "gemm_gelu",
     [](const WhatIfInput& input) { return fusion_family_what_if(input, "gemm_gelu"); },
     "plain",
     true,
     true},
    {"gemm_relu",
     "what if products took ReLU and its gradient along?",
     "gemm_relu",
     [](const WhatIfInput& input) { return fusion_family_what_if(input, "gemm_relu"); },
     "plain",
     true,
     true},
    {"conv_relu_backward",
     "what if convolutions' gradients of data took the ReLU's gradient along?",
     "conv_relu_backward",
     [](const WhatIfInput& input) { return fusion_family_what_if(input, "conv_relu_backward"); },
     "plain",
     true,
     true},
    {"largest_batch",
     "what if the batch were the largest that fits into memory?",
     "",
     largest_batch_what_if,
     "plain",
     true,
     true},
    {"framework",
     "what if the traced runtime executed only what the model needs?",
     "",
     framework_what_if},
    {"all_sequential",
     "what if the model ran fused in bf16 by its fastest variants?",
     "best_variant+bf16+fusion",
     all_sequential_what_if},
    {"all",
     "what if branches ran side by side as well?",
     "best_variant+bf16+fusion+parallel_branches",
     all_what_if},
});

}  // namespace

std::span<const WhatIf> what_ifs() {
  return kWhatIfs;
}

ModelWhatIfs compute_what_ifs(const WhatIfInput& input) {
  ModelWhatIfs result;
  result.instance = input.instance;
  std::vector<std::string> modes;
  const bool step = rewrite::is_step(input.graph);
  for (const WhatIf& row : kWhatIfs) {
    if (row.of_steps && !step) {
      continue;
    }
    modes.emplace_back(row.execution_mode);
    result.whatifs.push_back(row.evaluate(input));
    result.whatifs.back().name = row.name;
    result.whatifs.back().execution_mode = row.execution_mode;
    result.whatifs.back().baseline_mode = row.baseline_mode;
    result.whatifs.back().plans_tell = row.plans_tell;
  }
  for (WhatIfResult& combination : find_combinations(input, modes)) {
    result.whatifs.push_back(std::move(combination));
  }
  return result;
}

void rank(ModelWhatIfs& whatifs) {
  std::stable_sort(whatifs.whatifs.begin(),
                   whatifs.whatifs.end(),
                   [](const WhatIfResult& left, const WhatIfResult& right) {
                     return predicted_saving(left) > predicted_saving(right);
                   });
}

namespace {

std::optional<measure::MeasuredTime> complete_bound(const ModelBounds& model,
                                                    results::BoundKind kind,
                                                    std::string_view mode) {
  const Bound* const found = find_complete(model, kind, mode);
  return found == nullptr ? std::nullopt
                          : std::optional(measure::MeasuredTime{found->seconds, found->interval});
}

/// Returns the execution that the library makes when it is asked for nothing, or the plain one.
const ExecutionTime* execution_now(const ModelBounds& model) {
  const ExecutionTime* now = nullptr;
  for (const ExecutionTime& execution : model.executions) {
    const bool better = execution.library_choice || (execution.mode == "plain" && now == nullptr);
    now = better && execution.samples > 0 ? &execution : now;
  }
  return now;
}

}  // namespace

std::vector<ModelWhatIfs::WaterfallLevel> compute_waterfall(const WhatIfInput& input,
                                                            const ModelBounds& bounds) {
  const ExecutionTime* const now = execution_now(bounds);
  if (now == nullptr) {
    return {};
  }
  std::vector<ModelWhatIfs::WaterfallLevel> levels = {
      {"now", "measured end to end", {now->median, now->interval}}};
  const auto add =
      [&](const char* name, const char* what, const std::optional<measure::MeasuredTime>& time) {
        if (time && time->median < levels.back().time.median) {
          levels.push_back({name, what, *time});
        }
      };
  add("layers", "reorders, cold caches and gaps", price_mode(input, {}));
  add("fastest variants",
      "variants slower than the fastest",
      complete_bound(bounds, results::BoundKind::kLibrary, "plain"));
  add("fusion",
      "layers that could be one",
      complete_bound(bounds, results::BoundKind::kLibrary, "fusion"));
  add("occupancy",
      "processors that wait",
      complete_bound(bounds, results::BoundKind::kOccupancy, "fusion"));
  add("hardware",
      "kernels below this machine's ceilings",
      complete_bound(bounds, results::BoundKind::kHardware, "any"));
  return levels;
}

namespace {

constexpr std::string_view kType = "bf16";

/// Predicts everything together: the sum over the fused steps in bf16, or their critical path. It
/// is set against the library's own choices, or the fastest variants where these were not timed.
WhatIfResult everything(const WhatIfInput& input, bool parallel) {
  WhatIfResult result;
  const std::optional<measure::MeasuredTime> chosen = price_mode(input, {});
  result.mode =
      fmt::format("{}, fused, fastest variants{}, hot; against {}",
                  kType,
                  parallel ? ", branches side by side" : "",
                  chosen ? "the library's own choices in f32" : "the layers as written in f32");
  result.why_not = parallel ? input.why_no_branches() : std::string();
  if (!result.why_not.empty()) {
    result.applies = false;
    return result;
  }
  const std::optional<ModelPartition::Priced> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const ModelPartition& fused = input.partition_in(kType, ModelPartition::Mode::kFusion);
  const ModelPartition::Priced half =
      priced_partition(input.graph_in(kType), input.results, fused.steps, kType);
  if (!half.why_not.empty()) {
    result.why_not = half.why_not;
    return result;
  }
  result.prerequisites = {"all that fusion, bf16 and best_variant need"};
  ModelPartition::Priced::Sum after = half.sum;
  if (parallel) {
    result.prerequisites.emplace_back("a processor for each branch");
    after = sum_steps(fused.critical);
  }
  conclude(result, chosen.value_or(full->sum.time), after.time);
  return result;
}

}  // namespace

WhatIfResult all_sequential_what_if(const WhatIfInput& input) {
  return everything(input, false);
}

WhatIfResult all_what_if(const WhatIfInput& input) {
  return everything(input, true);
}

}  // namespace plumb::analysis
