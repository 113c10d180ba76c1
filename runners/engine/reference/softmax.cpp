// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::reference {

// Without coerce: over one axis. With it (opset < 13): over all axes from `axis` on together.
Numbers softmax(const LayerSpec& spec, Operands operands) {
  Numbers y = operands[0];
  require(spec.outputs[0].dims == y.dims, spec, "the output's shape is not the input's");
  const auto rank = static_cast<std::int64_t>(y.dims.size());
  const std::int64_t axis = spec.integer("axis");
  const bool coerce = spec.integer("coerce") != 0;
  require(axis >= 0 && (axis < rank || (coerce && axis == rank)), spec, "axis lies outside x");
  const auto at = static_cast<std::size_t>(axis);
  const std::size_t end = coerce ? y.dims.size() : at + 1;
  const auto size = static_cast<std::size_t>(product(y.dims, at, end));
  const auto inner = static_cast<std::size_t>(product(y.dims, end, y.dims.size()));
  const bool logarithm = spec.integer("log") != 0;
  const std::size_t runs = size == 0 ? 0 : y.values.size() / size;
  for (std::size_t run = 0; run < runs; ++run) {
    double* first = y.values.data() + run / inner * inner * size + run % inner;
    double most = first[0];
    for (std::size_t i = 1; i < size; ++i) {
      most = std::max(most, first[i * inner]);
    }
    double total = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      total += std::exp(first[i * inner] - most);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double shifted = first[i * inner] - most;
      first[i * inner] = logarithm ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  }
  return y;
}

}  // namespace plumb::reference
