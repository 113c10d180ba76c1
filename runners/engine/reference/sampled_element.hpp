// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace plumb::engine {

/// One output element, computed apart from all others.
struct SampledElement {
  std::size_t output = 0;   ///< index into LayerSpec::outputs
  std::size_t element = 0;  ///< index into the dense output
  double value = 0.0;       ///< float64, not rounded to the output's type
};

}  // namespace plumb::engine
