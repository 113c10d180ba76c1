// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// By what f16 multiplies the loss's gradient. A power of two, so that scaling is exact.
inline constexpr double kLossScale = 1024.0;

/// Returns a step of training whose forward and backward pass have a type of few digits in place of
/// f32, with master weights (Micikevicius et al., Mixed Precision Training, ICLR 2018). `type` is
/// kBf16 or kF16.
///
/// Weights, states and updates stay f32, as do the loss, statistics of normalisations and their
/// parameters. Each weight is cast where it is first read, and each gradient before its update.
/// With f16 the loss's gradient is multiplied by kLossScale, and gradients of weights are divided
/// by it. Values of the step keep their numbers; the casts' follow.
[[nodiscard]] model::Graph mixed_precision_step(const model::Graph& step, model::DataType type);

}  // namespace plumb::rewrite
