// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/engine/reference/operators.hpp"
#include "runners/engine/reference/pool_shape.hpp"

namespace plumb::engine::reference {
namespace {

/// Fills the output with the results of `pool(plane, position)`.
template <typename Pool>
Numbers pooled(const model::LayerSpec& spec,
               const PoolShape& shape,
               const Numbers& x,
               Pool&& pool) {
  Numbers y = zeros_like_output(spec);
  const std::int64_t volume = shape.in[0] * shape.in[1] * shape.in[2];
  std::size_t element = 0;
  for (std::int64_t plane = 0; plane < shape.planes; ++plane) {
    const double* from = x.values.data() + plane * volume;
    for (std::int64_t d = 0; d < shape.out[0]; ++d) {
      for (std::int64_t h = 0; h < shape.out[1]; ++h) {
        for (std::int64_t w = 0; w < shape.out[2]; ++w) {
          y.values[element++] = pool(from, std::array{d, h, w});
        }
      }
    }
  }
  return y;
}

/// Calls `give(plane of the data, plane of the data's gradient, window, gradient of its result)`
/// for every window.
template <typename Give>
Numbers given_back(const model::LayerSpec& spec,
                   const PoolShape& shape,
                   Operands operands,
                   const Numbers* data,
                   Give&& give) {
  Numbers result = zeros_like_output(spec);
  const std::int64_t volume = shape.in[0] * shape.in[1] * shape.in[2];
  std::size_t element = 0;
  for (std::int64_t plane = 0; plane < shape.planes; ++plane) {
    double* const to = result.values.data() + plane * volume;
    const double* const from = data != nullptr ? data->values.data() + plane * volume : to;
    for (std::int64_t d = 0; d < shape.out[0]; ++d) {
      for (std::int64_t h = 0; h < shape.out[1]; ++h) {
        for (std::int64_t w = 0; w < shape.out[2]; ++w) {
          give(from, to, std::array{d, h, w}, operands[0].values[element++]);
        }
      }
    }
  }
  return result;
}

}  // namespace

Numbers max_pooling(const model::LayerSpec& spec, Operands operands) {
  const PoolShape shape = pool_shape(spec);
  const double lowest = model::is_floating(spec.inputs[0]->dtype)
                            ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::lowest();
  return pooled(spec, shape, operands[0], [&](const double* plane, const auto& at) {
    double most = lowest;
    visit_window(shape, plane, at, [&](double value) {
      most = std::isnan(value) || value > most ? value : most;
    });
    return most;
  });
}

Numbers average_pooling(const model::LayerSpec& spec, Operands operands) {
  const PoolShape shape = pool_shape(spec);
  const bool include_pad = spec.integer("count_include_pad") != 0;
  return pooled(spec, shape, operands[0], [&](const double* plane, const auto& at) {
    double total = 0.0;
    std::int64_t seen = 0;
    const std::int64_t padded = visit_window(shape, plane, at, [&](double value) {
      total += value;
      ++seen;
    });
    return total / static_cast<double>(include_pad ? padded : seen);
  });
}

Numbers lp_pooling(const model::LayerSpec& spec, Operands operands) {
  const PoolShape shape = pool_shape(spec);
  const auto p = static_cast<double>(spec.integer("p"));
  require(p >= 1.0, spec, "p is below 1");
  return pooled(spec, shape, operands[0], [&](const double* plane, const auto& at) {
    double total = 0.0;
    visit_window(shape, plane, at, [&](double value) { total += std::pow(std::fabs(value), p); });
    return std::pow(total, 1.0 / p);
  });
}

// Gives the whole gradient to the window's largest element, the first of equal ones.
Numbers max_pooling_gradient(const model::LayerSpec& spec, Operands operands) {
  const PoolShape shape = pool_shape(model::forward_layer(spec));
  return given_back(spec,
                    shape,
                    operands,
                    &operands[1],
                    [&](const double* data, double* to, const auto& at, double gradient) {
                      const double* largest = nullptr;
                      visit_window(shape, data, at, [&](const double& value) {
                        if (largest == nullptr || value > *largest ||
                            (std::isnan(value) && !std::isnan(*largest))) {
                          largest = &value;
                        }
                      });
                      if (largest != nullptr) {
                        to[largest - data] += gradient;
                      }
                    });
}

Numbers average_pooling_gradient(const model::LayerSpec& spec, Operands operands) {
  const PoolShape shape = pool_shape(model::forward_layer(spec));
  const bool include_pad = spec.integer("count_include_pad") != 0;
  return given_back(
      spec,
      shape,
      operands,
      nullptr,
      [&](const double* data, double* to, const auto& at, double gradient) {
        std::int64_t seen = 0;
        const std::int64_t padded = visit_window(shape, data, at, [&](const double&) { ++seen; });
        const double share = gradient / static_cast<double>(include_pad ? padded : seen);
        visit_window(shape, data, at, [&](const double& value) { to[&value - data] += share; });
      });
}

}  // namespace plumb::engine::reference
