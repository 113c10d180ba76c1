// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {

namespace {

/// Runs of elements that a softmax scales to a sum of 1: `count` runs of `size` elements each.
struct Runs {
  std::size_t size = 1;
  std::size_t inner = 1;  ///< from one element of a run to the next
  std::size_t count = 0;

  [[nodiscard]] std::size_t first(std::size_t run) const {
    return run / inner * inner * size + run % inner;
  }
};

// Without coerce, softmax runs over one axis. With it (opset < 13), it runs over all axes from
// `axis` on together.
Runs runs_of(const model::LayerSpec& spec, const Numbers& x) {
  require(spec.outputs[0].dims == x.dims, spec, "the output's shape is not the input's");
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t axis = spec.integer("axis");
  const bool coerce = spec.integer("coerce") != 0;
  require(axis >= 0 && (axis < rank || (coerce && axis == rank)), spec, "axis lies outside x");
  const auto at = static_cast<std::size_t>(axis);
  const std::size_t end = coerce ? x.dims.size() : at + 1;
  Runs runs;
  runs.size = static_cast<std::size_t>(product(x.dims, at, end));
  runs.inner = static_cast<std::size_t>(product(x.dims, end, x.dims.size()));
  runs.count = runs.size == 0 ? 0 : x.values.size() / runs.size;
  return runs;
}

}  // namespace

Numbers softmax(const model::LayerSpec& spec, Operands operands) {
  Numbers y = operands[0];
  const Runs runs = runs_of(spec, y);
  const bool logarithm = spec.integer("log") != 0;
  for (std::size_t run = 0; run < runs.count; ++run) {
    double* first = y.values.data() + runs.first(run);
    double most = first[0];
    for (std::size_t i = 1; i < runs.size; ++i) {
      most = std::max(most, first[i * runs.inner]);
    }
    double total = 0.0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      total += std::exp(first[i * runs.inner] - most);
    }
    for (std::size_t i = 0; i < runs.size; ++i) {
      const double shifted = first[i * runs.inner] - most;
      first[i * runs.inner] = logarithm ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  }
  return y;
}

// From the result y, dx = y·(dy − Σ dy·y). Of the logarithm, dx = dy − eʸ·Σ dy.
Numbers softmax_gradient(const model::LayerSpec& spec, Operands operands) {
  Numbers dx = operands[0];
  const std::vector<double>& y = operands[1].values;
  require(operands[1].dims == dx.dims, spec, "the gradient and y differ in shape");
  const Runs runs = runs_of(spec, dx);
  const bool logarithm = spec.integer("log") != 0;
  for (std::size_t run = 0; run < runs.count; ++run) {
    const std::size_t first = runs.first(run);
    double total = 0.0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      const std::size_t at = first + i * runs.inner;
      total += logarithm ? dx.values[at] : dx.values[at] * y[at];
    }
    for (std::size_t i = 0; i < runs.size; ++i) {
      const std::size_t at = first + i * runs.inner;
      dx.values[at] =
          logarithm ? dx.values[at] - std::exp(y[at]) * total : y[at] * (dx.values[at] - total);
    }
  }
  return dx;
}

}  // namespace plumb::engine::reference
