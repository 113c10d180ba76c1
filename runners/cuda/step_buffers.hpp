// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace plumb::cuda {

/// Says which buffers of its plan a step reads and which it writes; one may be among both.
struct StepBuffers {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
};

}  // namespace plumb::cuda
