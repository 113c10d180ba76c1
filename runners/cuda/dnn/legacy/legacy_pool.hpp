// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

namespace plumb::cuda {

/// Translates a pool, or a softmax, for cuDNN's older calls. Throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_pools(const model::LayerSpec& spec);
[[nodiscard]] std::vector<LegacyProblem> legacy_softmaxes(const model::LayerSpec& spec);

}  // namespace plumb::cuda
