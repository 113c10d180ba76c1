// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Measures how far rounding may move the outputs of a step of training, by kind
/// (rewrite::TrainingStep::kinds), relative to their norm.
///
/// The step is executed once more from operands that are changed at random by up to 2⁻¹⁹, what
/// rounding leaves of a sum of a thousand products in f32, or by half of the last digit of bf16
/// (2⁻⁹), f16 and TF32 (2⁻¹²) in a step that has them. This is Monte Carlo arithmetic (Parker,
/// "Monte Carlo Arithmetic", 1997) with the operands alone. Then the ready step is bound anew, as
/// before its first execution. Empty: the model is no step of training, or has no such operands.
/// Calls `after_part`, if it is given, now and then: weights of gigabytes take long.
[[nodiscard]] std::vector<double> measure_rounding(const RequestedModel& model,
                                                   ReadyModel& ready,
                                                   const std::function<void()>& after_part = {});

}  // namespace plumb::engine
