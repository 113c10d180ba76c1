// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runners/engine/plan/step_buffers.hpp"

namespace plumb::cuda {

/// Stream of each step, and the steps of other streams for which it waits.
struct StreamPlan {
  std::vector<std::size_t> stream;              ///< by step
  std::vector<std::vector<std::size_t>> waits;  ///< by step: steps before, of other streams
  std::size_t streams = 1;
};

/// Spreads steps over at most `most` streams. `steps` says what each reads and writes; no two
/// buffers share memory. A step continues the stream that ends with one of the steps it depends on,
/// the newest of them first. A branch opens another stream while there are any left. Deterministic.
[[nodiscard]] StreamPlan plan_streams(std::span<const engine::StepBuffers> steps, std::size_t most);

}  // namespace plumb::cuda
