// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "runners/engine/exec/step_order.hpp"

namespace plumb::engine {

/// Buffers of its plan that a step reads and writes. A buffer may be among both.
struct StepBuffers {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
};

/// Returns the same buffers in another, larger plan. Buffer i of the first is buffer map[i] there.
[[nodiscard]] StepBuffers mapped(const StepBuffers& buffers, const std::vector<std::size_t>& map);

/// Returns, for each step, the earlier steps that it must follow, in ascending order. Those are the
/// steps that wrote what it uses last, or that read since then what it writes.
[[nodiscard]] StepNeeds step_needs(std::span<const StepBuffers> steps);

/// Returns the steps that use each buffer, in ascending order.
[[nodiscard]] std::map<std::size_t, std::vector<std::size_t>> buffer_users(
    std::span<const StepBuffers> steps);

}  // namespace plumb::engine
