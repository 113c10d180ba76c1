// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

namespace plumb::cuda {

/// Translates a layer into the forms that cuDNN's older calls take. Throws Unsupported with the
/// reason if there is none.
[[nodiscard]] std::vector<LegacyProblem> legacy_problems(const model::LayerSpec& spec);

}  // namespace plumb::cuda
