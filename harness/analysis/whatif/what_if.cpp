// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "harness/analysis/whatif/combination.hpp"
#include "harness/analysis/whatif/what_if_rows.hpp"

namespace plumb::analysis {
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
  for (const WhatIf& row : kWhatIfs) {
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

}  // namespace plumb::analysis
