// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/rewrite/gradient/training_graph.hpp"

namespace plumb::rewrite {

/// Highest number of micro-batches of a step, each of which repeats the layers of the model.
inline constexpr std::int64_t kMaxMicroBatches = 64;

/// Repeats both passes of a differentiated model for further micro-batches, one after the other,
/// and adds up losses and gradients.
///
/// Each micro-batch has inputs of its own. What depends on weights alone is computed once. Each
/// gradient is added to those before as soon as it is there. The sums are those of the whole batch
/// if each loss is a mean over its micro-batch and TrainingChoice::share is 1 ÷ `micro_batches`. A
/// batch normalisation still takes the statistics of a micro-batch.
void accumulate(TrainingGraph& training, std::int64_t micro_batches);

}  // namespace plumb::rewrite
