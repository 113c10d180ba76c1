// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/output_difference.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb {

double largest_difference(std::span<const Tensor> outputs, std::span<const Tensor> expected) {
  PLUMB_CHECK(outputs.size() == expected.size());
  double worst = 0.0;
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    if (!is_floating(expected[index].type.dtype)) {
      continue;
    }
    const ElementReader ours = reader_of(outputs[index].type.dtype);
    const ElementReader theirs = reader_of(expected[index].type.dtype);
    double magnitude = 0.0;
    double largest = 0.0;
    const auto count = static_cast<std::size_t>(element_count(expected[index].type));
    for (std::size_t i = 0; i < count; ++i) {
      const double wanted = theirs(expected[index].data.data(), i);
      magnitude = std::max(magnitude, std::abs(wanted));
      largest = std::max(largest, std::abs(ours(outputs[index].data.data(), i) - wanted));
    }
    worst = std::max(worst, magnitude > 0.0 ? largest / magnitude : largest);
  }
  return worst;
}

double tolerated_difference(std::span<const Tensor> outputs, const ExecutionMode& mode) {
  const bool rough =
      mode.int8 || std::any_of(outputs.begin(), outputs.end(), [](const Tensor& output) {
        return is_floating(output.type.dtype) && output.type.dtype != DataType::kF32;
      });
  return rough ? 0.5 : 1e-3;
}

}  // namespace plumb
