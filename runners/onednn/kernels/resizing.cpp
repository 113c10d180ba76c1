// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/resizing.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// One axis of a resize.
struct Axis {
  double in = 0;   ///< extent
  double out = 0;  ///< extent
  double scale = 1;
};

double source_coordinate(const model::LayerSpec& spec, const Axis& axis, double at) {
  const std::string& coordinates = spec.text("coordinates");
  const double centre = (at + 0.5) / axis.scale - 0.5;
  if (coordinates == "half_pixel") {
    return centre;
  }
  if (coordinates == "half_pixel_symmetric") {
    return centre + axis.in / 2 * (1 - axis.out / (axis.in * axis.scale));
  }
  if (coordinates == "pytorch_half_pixel") {
    return axis.out > 1 ? centre : 0;
  }
  if (coordinates == "align_corners") {
    return axis.out > 1 ? at * (axis.in - 1) / (axis.in * axis.scale - 1) : 0;
  }
  if (coordinates == "tf_half_pixel_for_nn") {
    return centre + 0.5;
  }
  require(coordinates == "asymmetric", spec, "coordinates without a formula in this backend");
  return at / axis.scale;
}

double nearest(const model::LayerSpec& spec, double x) {
  const std::string& mode = spec.text("nearest_mode");
  if (mode == "floor") {
    return std::floor(x);
  }
  if (mode == "ceil") {
    return std::ceil(x);
  }
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Returns the weight of cubic convolution at a distance (Keys, "Cubic convolution interpolation
/// for digital image processing", 1981, §IV). `a` is ONNX's cubic_coeff_a.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) {
    return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  }
  return d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
}

std::vector<ResizeTap> taps_around(const model::LayerSpec& spec, const Axis& axis, double x) {
  const bool cubic = spec.text("mode") == "cubic";
  const bool antialias = spec.integer("antialias") != 0;
  const bool exclude = spec.integer("exclude_outside") != 0;
  const double stretch = antialias ? std::max(1 / axis.scale, 1.0) : 1.0;
  const double reach = (cubic ? 2 : 1) * stretch;
  require(reach < 4096, spec, "an antialiasing window of more than 8192 positions");
  std::vector<ResizeTap> taps;
  double sum = 0;
  for (double at = std::floor(x - reach) + 1; at < x + reach; ++at) {
    const double distance = (at - x) / stretch;
    const bool outside = at < 0 || at > axis.in - 1;
    const double weight = cubic ? cubic_weight(distance, spec.real("cubic_a"))
                                : std::max(0.0, 1 - std::abs(distance));
    if (weight == 0 || (outside && exclude)) {
      continue;
    }
    sum += weight;
    taps.push_back({static_cast<std::int64_t>(std::clamp(at, 0.0, axis.in - 1)), weight});
  }
  if ((antialias || exclude) && sum != 0) {
    for (ResizeTap& tap : taps) {
      tap.weight /= sum;
    }
  }
  return taps;
}

}  // namespace

std::vector<std::vector<ResizeTap>> resize_taps(const model::LayerSpec& spec, std::size_t axis) {
  require_operands(spec, 1);
  const auto& x = spec.inputs[0]->dims;
  const auto& y = spec.outputs[0].dims;
  const std::vector<double>& scales = spec.reals("scales");
  require(x.size() == y.size() && scales.size() == x.size() && axis < x.size(),
          spec,
          "scales need one number for each dimension");
  require(y[axis] == 0 || x[axis] > 0, spec, "there are no elements to resize");
  require(std::isfinite(scales[axis]) && scales[axis] > 0, spec, "scales must be positive");
  const Axis geometry{static_cast<double>(x[axis]), static_cast<double>(y[axis]), scales[axis]};
  std::vector<std::vector<ResizeTap>> taps(static_cast<std::size_t>(y[axis]));
  for (std::size_t at = 0; at < taps.size(); ++at) {
    if (x[axis] == y[axis] && scales[axis] == 1) {
      taps[at] = {{static_cast<std::int64_t>(at), 1}};
      continue;
    }
    const double source = source_coordinate(spec, geometry, static_cast<double>(at));
    require(std::isfinite(source) && std::abs(source) < 1e15, spec, "coordinates out of range");
    if (spec.text("mode") == "nearest") {
      taps[at] = {
          {static_cast<std::int64_t>(std::clamp(nearest(spec, source), 0.0, geometry.in - 1)), 1}};
    } else {
      taps[at] = taps_around(spec, geometry, source);
    }
  }
  return taps;
}

std::vector<std::int64_t> nearest_indices(const model::LayerSpec& spec, std::size_t axis) {
  std::vector<std::int64_t> indices;
  for (const auto& taps : resize_taps(spec, axis)) {
    indices.push_back(taps.front().position);
  }
  return indices;
}

namespace {

/// Interpolation of a dense tensor, axis by axis. All memory is allocated at construction.
class Interpolation {
 public:
  explicit Interpolation(const model::LayerSpec& spec)
      : in_type_(spec.inputs[0]->dtype), out_type_(spec.outputs[0].dtype) {
    check_number(in_type_);
    check_number(out_type_);
    std::vector<std::int64_t> dims = spec.inputs[0]->dims;
    const std::vector<std::int64_t>& wanted = spec.outputs[0].dims;
    values_.resize(static_cast<std::size_t>(element_count(*spec.inputs[0])));
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      Pass pass{resize_taps(spec, axis), 1, static_cast<std::size_t>(dims[axis]), 1, {}};
      if (dims[axis] == wanted[axis] && spec.reals("scales")[axis] == 1) {
        continue;
      }
      dims[axis] = wanted[axis];
      for (std::size_t other = 0; other < dims.size(); ++other) {
        (other < axis ? pass.outer : pass.inner) *=
            other == axis ? 1 : static_cast<std::size_t>(dims[other]);
      }
      pass.result.resize(pass.outer * pass.taps.size() * pass.inner);
      passes_.push_back(std::move(pass));
    }
  }

  void run(const std::byte* source, std::byte* destination) {
    load(in_type_, source, values_.size(), values_.data());
    const std::vector<float>* values = &values_;
    for (Pass& pass : passes_) {
      apply(pass, *values);
      values = &pass.result;
    }
    store(out_type_, values->data(), values->size(), destination);
  }

 private:
  /// One axis, seen as the middle of three.
  struct Pass {
    std::vector<std::vector<ResizeTap>> taps;
    std::size_t outer;
    std::size_t extent;  ///< of the source
    std::size_t inner;
    std::vector<float> result;
  };

  static void apply(Pass& pass, const std::vector<float>& source) {
    float* row = pass.result.data();
    for (std::size_t outer = 0; outer < pass.outer; ++outer) {
      for (const auto& position : pass.taps) {
        std::fill_n(row, pass.inner, 0.0F);
        for (const ResizeTap& tap : position) {
          const auto weight = static_cast<float>(tap.weight);
          const float* const from =
              source.data() +
              (outer * pass.extent + static_cast<std::size_t>(tap.position)) * pass.inner;
          for (std::size_t index = 0; index < pass.inner; ++index) {
            row[index] += weight * from[index];
          }
        }
        row += pass.inner;
      }
    }
  }

  model::DataType in_type_;
  model::DataType out_type_;
  std::vector<float> values_;
  std::vector<Pass> passes_;
};

}  // namespace

void interpolate_resize(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  require_operands(spec, 1);
  if (spec.text("mode") == "nearest") {
    copy_nearest(spec, device, list);
    return;
  }
  require(model::is_floating(spec.inputs[0]->dtype),
          spec,
          "only floating-point values are interpolated");
  auto interpolation = std::make_shared<Interpolation>(spec);
  add_own(list, spec, "resize", [interpolation](const KernelOperands& operands) {
    interpolation->run(operands.input(0), operands.output(0));
  });
}

}  // namespace plumb::onednn
