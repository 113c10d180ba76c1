// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
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
