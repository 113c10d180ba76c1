// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "harness/model/key/tensor.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::engine {

/// Adds what a step of training reads besides the model's inputs and weights, for all
/// micro-batches.
///
/// A target of classes has one class a row, and another target lies in [-1, 1). A mask keeps an
/// element or drops it. States are zero. A loss scale is the first one. The numbers are the same
/// for the same seed everywhere.
void add_step_inputs(const rewrite::TrainingStep& step,
                     std::uint64_t seed,
                     std::map<model::ValueId, model::Tensor>& values);

}  // namespace plumb::engine
