// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::rewrite {

/// Folds frozen batch normalisations into the convolutions before them (the mode `folded_norms`).
///
/// With the factor f = scale ÷ √(variance + ε) of each channel, the convolution has the weights
/// f · W and the bias f · b + shift − mean · f. W and b are trained, so each step multiplies them
/// by f once. The gradient of the convolution's data reads f · W, and those of W and b are
/// multiplied by f.
///
/// A convolution whose weights or bias are frozen too, or whose result or weights have other
/// readers, stays as it is. `changes` counts the folded normalisations of all micro-batches.
/// Absent: nothing can be folded.
[[nodiscard]] std::optional<TrainingStep::Rewritten> folded_norms(const model::Graph& step);

}  // namespace plumb::rewrite
