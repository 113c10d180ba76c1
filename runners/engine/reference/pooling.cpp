// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/model/key/training_layers.hpp"
#include "runners/engine/reference/numbers.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// Extents of a pool, always with three spatial axes; missing ones are 1.
struct PoolShape {
  std::int64_t planes = 1;  ///< batch × channels
  std::array<std::int64_t, 3> in{1, 1, 1};
  std::array<std::int64_t, 3> out{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> strides{1, 1, 1};
  std::array<std::int64_t, 3> dilations{1, 1, 1};
  std::array<std::int64_t, 3> pads{0, 0, 0};
  std::array<std::int64_t, 3> end_pads{0, 0, 0};
};

/// Calls `visit(value)` for every element of `plane` inside the window at output position `at`. The
/// value is the plane's own element, so that its address tells its position. Returns how many
/// positions of the window lie inside the padded input.
template <typename Visitor>
std::int64_t visit_window(const PoolShape& shape,
                          const double* plane,
                          const std::array<std::int64_t, 3>& at,
                          Visitor&& visit) {
  std::int64_t inside_padded = 0;
  for (std::int64_t d = 0; d < shape.kernel[0]; ++d) {
    const std::int64_t z = at[0] * shape.strides[0] - shape.pads[0] + d * shape.dilations[0];
    for (std::int64_t h = 0; h < shape.kernel[1]; ++h) {
      const std::int64_t y = at[1] * shape.strides[1] - shape.pads[1] + h * shape.dilations[1];
      for (std::int64_t w = 0; w < shape.kernel[2]; ++w) {
        const std::int64_t x = at[2] * shape.strides[2] - shape.pads[2] + w * shape.dilations[2];
        if (z < shape.in[0] + shape.end_pads[0] && y < shape.in[1] + shape.end_pads[1] &&
            x < shape.in[2] + shape.end_pads[2]) {
          ++inside_padded;
        }
        if (z >= 0 && z < shape.in[0] && y >= 0 && y < shape.in[1] && x >= 0 && x < shape.in[2]) {
          visit(plane[(z * shape.in[1] + y) * shape.in[2] + x]);
        }
      }
    }
  }
  return inside_padded;
}

/// Reads and checks the shapes of a pool, so that all indices made from them are in range. Throws
/// Error{kUser}.
PoolShape pool_shape(const model::LayerSpec& spec) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  require(x.size() >= 3 && x.size() <= 5, spec, "x does not have one to three spatial axes");
  const std::size_t axes = x.size() - 2;
  const Dims& kernel = spec.integers("kernel");
  const Dims& strides = spec.integers("strides");
  const Dims& dilations = spec.integers("dilations");
  const Dims& pads = spec.integers("pads");
  require(y.size() == x.size() && y[0] == x[0] && y[1] == x[1] && kernel.size() == axes &&
              strides.size() == axes && dilations.size() == axes && pads.size() == 2 * axes,
          spec,
          "kernel, strides, dilations, pads or the output do not fit the input");
  PoolShape shape;
  shape.planes = x[0] * x[1];
  for (std::size_t axis = 0; axis < axes; ++axis) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    const std::size_t to = 3 - axes + axis;
    shape.in[to] = x[axis + 2];
    shape.out[to] = y[axis + 2];
    shape.kernel[to] = kernel[axis];
    shape.strides[to] = strides[axis];
    shape.dilations[to] = dilations[axis];
    shape.pads[to] = pads[axis];
    shape.end_pads[to] = pads[axis + axes];
    for (const std::int64_t value : {kernel[axis], strides[axis], dilations[axis]}) {
      require(value >= 1 && value < kMost, spec, "kernel, strides or dilations are out of range");
    }
    for (const std::int64_t value : {pads[axis], pads[axis + axes], x[axis + 2], y[axis + 2]}) {
      require(value >= 0 && value < kMost, spec, "pads or extents are out of range");
    }
    const std::int64_t room =
        x[axis + 2] + pads[axis] + pads[axis + axes] - dilations[axis] * (kernel[axis] - 1) - 1;
    const std::int64_t whole = room / strides[axis] + 1;
    const bool rounded_up = spec.integer("ceil_mode") != 0 && room % strides[axis] != 0;
    // When rounding up, a last window that would start behind the input may be dropped or not.
    require(room >= 0 && (y[axis + 2] == whole || (rounded_up && y[axis + 2] == whole + 1)),
            spec,
            "the output's extent does not follow from the input's");
  }
  return shape;
}

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

namespace {

/// Weight of an input position at one output position of one axis.
struct Tap {
  std::int64_t position;
  double weight;
};
using Taps = std::vector<Tap>;

/// Maps an output position to the input's coordinates by ONNX Resize's
/// coordinate_transformation_mode. `resized` is scale × extent, not rounded, as in ONNX's test
/// data.
double original_coordinate(const model::LayerSpec& spec,
                           std::int64_t at,
                           double extent,
                           double scale,
                           std::int64_t out_extent) {
  const std::string& mode = spec.text("coordinates");
  const auto x = static_cast<double>(at);
  const double resized = scale * extent;
  if (mode == "half_pixel") {
    return (x + 0.5) / scale - 0.5;
  }
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(out_extent) / resized;
    return extent / 2.0 * (1.0 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  if (mode == "pytorch_half_pixel") {
    return out_extent > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
  }
  if (mode == "align_corners") {
    return out_extent > 1 ? x * (extent - 1.0) / (resized - 1.0) : 0.0;
  }
  if (mode == "tf_half_pixel_for_nn") {
    return (x + 0.5) / scale;
  }
  require(mode == "asymmetric", spec, "the coordinates are unknown");
  return x / scale;
}

double nearest(const model::LayerSpec& spec, double x) {
  const std::string& mode = spec.text("nearest_mode");
  if (mode == "floor") {
    return std::floor(x);
  }
  if (mode == "ceil") {
    return std::ceil(x);
  }
  if (mode == "round_prefer_ceil") {
    return std::floor(x + 0.5);
  }
  require(mode == "round_prefer_floor", spec, "the nearest_mode is unknown");
  return std::ceil(x - 0.5);
}

double triangle(double distance) {
  return std::max(0.0, 1.0 - std::fabs(distance));
}

/// Returns the weight of cubic convolution at a distance. R. Keys, "Cubic Convolution Interpolation
/// for Digital Image Processing" (1981), eq. 15, with a for −1/2.
double cubic(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1.0) {
    return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  }
  if (d < 2.0) {
    return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
  }
  return 0.0;
}

/// Lists the taps of one output position. Positions outside the input count as its edge, or not at
/// all.
Taps taps_at(const model::LayerSpec& spec, double x, std::int64_t extent, double scale) {
  const std::string& mode = spec.text("mode");
  const auto clamped = [extent](double position) {
    return static_cast<std::int64_t>(std::clamp(position, 0.0, static_cast<double>(extent - 1)));
  };
  if (mode == "nearest") {
    return {{clamped(nearest(spec, x)), 1.0}};
  }
  require(mode == "linear" || mode == "cubic", spec, "the mode is unknown");
  const bool is_cubic = mode == "cubic";
  const bool antialias = spec.integer("antialias") != 0;
  const bool exclude = spec.integer("exclude_outside") != 0;
  const double a = spec.real("cubic_a");
  // Antialiasing widens the kernel when shrinking.
  const double squeeze = antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (is_cubic ? 2.0 : 1.0) / squeeze;
  Taps taps;
  double total = 0.0;
  for (double at = std::floor(x - reach) + 1.0; at < x + reach; at += 1.0) {
    const double distance = (at - x) * squeeze;
    double weight = is_cubic ? cubic(distance, a) : triangle(distance);
    if (exclude && (at < 0.0 || at > static_cast<double>(extent - 1))) {
      weight = 0.0;
    }
    total += weight;
    taps.push_back({clamped(at), weight});
  }
  if (antialias || exclude) {
    for (Tap& tap : taps) {
      tap.weight /= total;
    }
  }
  return taps;
}

/// Resizes along one axis.
Numbers resized_along(const model::LayerSpec& spec,
                      const Numbers& x,
                      std::size_t axis,
                      std::int64_t extent,
                      double scale) {
  Numbers y;
  y.dims = x.dims;
  y.dims[axis] = extent;
  y.values.resize(static_cast<std::size_t>(product(y.dims)));
  const auto inner = static_cast<std::size_t>(product(x.dims, axis + 1, x.dims.size()));
  const auto outer = static_cast<std::size_t>(product(x.dims, 0, axis));
  const auto from_extent = static_cast<std::size_t>(x.dims[axis]);
  for (std::int64_t at = 0; at < extent; ++at) {
    const double coordinate =
        original_coordinate(spec, at, static_cast<double>(x.dims[axis]), scale, extent);
    for (const Tap& tap : taps_at(spec, coordinate, x.dims[axis], scale)) {
      for (std::size_t o = 0; o < outer; ++o) {
        const double* from =
            x.values.data() + (o * from_extent + static_cast<std::size_t>(tap.position)) * inner;
        double* to = y.values.data() +
                     (o * static_cast<std::size_t>(extent) + static_cast<std::size_t>(at)) * inner;
        for (std::size_t i = 0; i < inner; ++i) {
          to[i] += tap.weight * from[i];
        }
      }
    }
  }
  return y;
}

}  // namespace

Numbers resize(const model::LayerSpec& spec, Operands operands) {
  Numbers y = operands[0];
  const Dims& wanted = spec.outputs[0].dims;
  const std::vector<double>& scales = spec.reals("scales");
  require(wanted.size() == y.dims.size() && scales.size() == y.dims.size(),
          spec,
          "scales or the output do not fit x");
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    require(std::isfinite(scales[axis]) && scales[axis] > 1e-6 && scales[axis] < 1e6,
            spec,
            "a scale is out of range");
    if (scales[axis] == 1.0 && wanted[axis] == y.dims[axis]) {
      continue;
    }
    require(y.dims[axis] > 0, spec, "there are no elements to resize");
    y = resized_along(spec, y, axis, wanted[axis], scales[axis]);
  }
  return y;
}

}  // namespace plumb::engine::reference
