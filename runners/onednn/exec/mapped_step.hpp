// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Returns a step of one plan as a step of another, larger plan. Buffer i of the first is buffer
/// map[i] of the second.
[[nodiscard]] Step mapped(const Step& step, const std::vector<std::size_t>& map);

}  // namespace plumb::onednn
