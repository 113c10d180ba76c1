// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/analysis/whatif/what_if_result.hpp"

namespace plumb::analysis {

/// Predicts the saving if the library picked its fastest variant instead of its own choice.
[[nodiscard]] WhatIfResult best_variant_what_if(const WhatIfInput& input);

/// Predicts the saving if layers were fused wherever the library can fuse them (harness/rewrite).
[[nodiscard]] WhatIfResult fusion_what_if(const WhatIfInput& input);

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

}  // namespace plumb::analysis
