// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace plumb::cuda {

/// Buffers of its plan that a step reads and writes. A buffer may be among both.
struct StepBuffers {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
};

}  // namespace plumb::cuda
