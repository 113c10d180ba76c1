// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Predicts the saving if the library picked its fastest variant instead of its own choice.
[[nodiscard]] WhatIfResult best_variant_what_if(const WhatIfInput& input);

/// Predicts the saving if layers were fused wherever the library can fuse them (harness/rewrite).
[[nodiscard]] WhatIfResult fusion_what_if(const WhatIfInput& input);

/// Predicts the saving if one family of fusions alone were switched on in a step of training
/// (rewrite::FusionFamily).
[[nodiscard]] WhatIfResult fusion_family_what_if(const WhatIfInput& input, std::string_view family);

/// Answers what channels last would save, wherever a layer can take images so. Only an execution
/// can tell: rows do not say which layout a variant named `layout=any` uses.
[[nodiscard]] WhatIfResult channels_last_what_if(const WhatIfInput& input);

/// Predicts the saving if the model ran in bf16, accumulating in f32.
[[nodiscard]] WhatIfResult bf16_what_if(const WhatIfInput& input);

/// Predicts the saving if the model ran in f16, accumulating in f32.
[[nodiscard]] WhatIfResult f16_what_if(const WhatIfInput& input);

/// Predicts the saving if products of f32 rounded their factors to TF32.
[[nodiscard]] WhatIfResult tf32_what_if(const WhatIfInput& input);

/// Answers what f16 with channels last would save. Only an execution can tell, as for channels
/// last.
[[nodiscard]] WhatIfResult channels_last_f16_what_if(const WhatIfInput& input);

/// Predicts the saving if the model ran in bf16, each layer by a variant with channels last where
/// one was timed. Changes of layout are not in it until the mode was executed.
[[nodiscard]] WhatIfResult channels_last_bf16_what_if(const WhatIfInput& input);

/// Predicts the saving if products with constant weights were computed in 8-bit integers.
[[nodiscard]] WhatIfResult int8_what_if(const WhatIfInput& input);

/// Predicts the saving if batches of convolutions were divided under a cap of workspace, as µ-cuDNN
/// does.
[[nodiscard]] WhatIfResult micro_batch_what_if(const WhatIfInput& input);

/// Predicts the saving if channels filled whole blocks of the kernels. Only a change of the model
/// can realise it.
[[nodiscard]] WhatIfResult padded_channels_what_if(const WhatIfInput& input);

/// Answers what one captured graph saves against launch after launch. Only an execution can tell.
[[nodiscard]] WhatIfResult graph_capture_what_if(const WhatIfInput& input);

/// Predicts the saving if branches ran side by side, with a processor for each.
[[nodiscard]] WhatIfResult parallel_branches_what_if(const WhatIfInput& input);

/// Predicts the saving if fused steps shared the processors, after Rammer.
[[nodiscard]] WhatIfResult co_schedule_what_if(const WhatIfInput& input);

/// Predicts the saving if a second lane computed the gradients of weights and the updates.
[[nodiscard]] WhatIfResult weight_gradients_what_if(const WhatIfInput& input);

/// Predicts what it costs to keep as little as recomputing each value once allows.
[[nodiscard]] WhatIfResult checkpointing_what_if(const WhatIfInput& input);

/// Prices a step of training at its batch, if its memory is capped. Absent: it is not, or a layer
/// has no time.
[[nodiscard]] std::optional<WhatIfInput::TrainedBatch> price_trained_batch(
    const ModelInstance& instance, const model::Graph& graph, const ResultSet& results);

/// Predicts the saving if the batch were the largest of the run whose step fits under the cap of
/// memory. The predicted time is that of as many samples at its rate. Other batches are other
/// instances of the model, so no mode switches it on.
[[nodiscard]] WhatIfResult largest_batch_what_if(const WhatIfInput& input);

/// Predicts the saving if frozen batch normalisations of a step were folded into the convolutions
/// before them.
[[nodiscard]] WhatIfResult folded_norms_what_if(const WhatIfInput& input);

/// Predicts what the traced runtime would save if it executed what the model needs. Each saving is
/// one finding of the trace, at most its time.
[[nodiscard]] WhatIfResult framework_what_if(const WhatIfInput& input);

/// Predicts the saving of fusion, the fastest variants and bf16 together, without parallel
/// branches.
[[nodiscard]] WhatIfResult all_sequential_what_if(const WhatIfInput& input);

/// Predicts the saving of fusion, the fastest variants, bf16 and parallel branches together.
[[nodiscard]] WhatIfResult all_what_if(const WhatIfInput& input);

/// The most combinations that are proposed for a model.
inline constexpr std::size_t kMaxCombinations = 3;

/// Searches for what-ifs that save most together, greedily: the option that saves most comes first,
/// then the one that saves most beside it, and so on.
///
/// Options are the fastest variants, fusion and one type. All are priced from hot times of the
/// layers (price_mode()). Returns the best combinations of several options, the largest saving
/// first. Modes in `known` are left out: what-ifs of the table answer for them.
[[nodiscard]] std::vector<WhatIfResult> find_combinations(const WhatIfInput& input,
                                                          std::span<const std::string> known);

/// Row of the table of what-ifs. A new what-if is a function and a row.
struct WhatIf {
  std::string_view name;
  std::string_view question;
  std::string_view execution_mode;  ///< that switches it on; empty: none does
  WhatIfResult (*evaluate)(const WhatIfInput& input);
  std::string_view baseline_mode = "plain";  ///< against which it does
  bool plans_tell = true;                    ///< the prices of executed plans hold what it changes
  bool of_steps = false;  ///< it asks about steps of training, and is no row of other models
};
[[nodiscard]] std::span<const WhatIf> what_ifs();

/// Answers of all what-ifs for one model, and the best combinations of several.
struct ModelWhatIfs {
  /// Level between what a model takes now and its bound.
  struct WaterfallLevel {
    std::string name;  ///< "now", "library", "hardware"…
    std::string what;  ///< what lies between the level above and this one, in words; of the first:
                       ///< what it is
    measure::MeasuredTime time;
  };

  ModelInstance instance;
  std::vector<WhatIfResult> whatifs;
};
[[nodiscard]] ModelWhatIfs compute_what_ifs(const WhatIfInput& input);

/// Sorts by the predicted saving, largest first. What has no prediction comes last.
void rank(ModelWhatIfs& whatifs);

/// Returns the levels from a model's time end to end down to its lowest bound, each below the one
/// before. They are of the model's own type. Unknown and incomplete levels are left out. Empty: no
/// time end to end.
[[nodiscard]] std::vector<ModelWhatIfs::WaterfallLevel> compute_waterfall(
    const WhatIfInput& input, const ModelBounds& bounds);

/// Adds the realised saving to each what-if. The run must have executed the model end to end both
/// in the what-if's mode and in its baseline's, which is mostly plain.
///
/// Where both plans could be priced from their layers (`predicted` of that mode), these prices
/// replace the sums of hot times. Prediction and execution then are of the same plan. The error of
/// a prediction is |predicted − realised saving| ÷ the baseline's latency.
///
/// Branches side by side are not judged where two threads do less than kMinParallelEfficiency of
/// twice the work of one. Pure.
void add_realised_savings(const ModelBounds& model,
                          const ResultSet& results,
                          ModelWhatIfs& whatifs);

/// Lists what each what-if saves inside the executed plans, where it was predicted from them. Steps
/// of both plans that cover the same layers are compared, so the savings add up to the predicted
/// one. The list is empty where the steps have no prices of their own. Pure.
void add_plan_savings(std::span<const results::Execution> executions,
                      const model::Graph& graph,
                      const ResultSet& results,
                      ModelWhatIfs& whatifs);

}  // namespace plumb::analysis
