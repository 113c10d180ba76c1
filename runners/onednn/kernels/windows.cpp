// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/windows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

constexpr std::size_t kSpatial = 3;  // fewer dimensions are padded with extents of 1

struct Axis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
using Window = std::array<Axis, kSpatial>;

/// Sum or extreme of the elements that a window has read.
struct Accumulator {
  double value = 0;
  std::int64_t inside = 0;  ///< positions of the input
  std::int64_t padded = 0;  ///< positions of the input or its pads, not of what ceil_mode added
};

enum class Pool { kMax, kAverage, kAverageWithPads, kPower };

struct PoolPlan {
  Window window;
  Pool pool = Pool::kMax;
  double power = 1;
};

Window read_window(const model::LayerSpec& spec) {
  require_operands(spec, 1);
  const auto& x = spec.inputs[0]->dims;
  const auto& y = spec.outputs[0].dims;
  const auto& kernel = spec.integers("kernel");
  const auto& strides = spec.integers("strides");
  const auto& dilations = spec.integers("dilations");
  const auto& pads = spec.integers("pads");
  require(x.size() >= 3 && x.size() <= 2 + kSpatial && y.size() == x.size() && x[0] == y[0] &&
              x[1] == y[1],
          spec,
          "needs 1 to 3 spatial dimensions and the input's channels");
  const std::size_t spatial = x.size() - 2;
  require(kernel.size() == spatial && strides.size() == spatial && dilations.size() == spatial &&
              pads.size() == 2 * spatial,
          spec,
          "attributes need one number for each spatial dimension");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  Window window;
  for (std::size_t index = 0; index < spatial; ++index) {
    Axis& axis = window[kSpatial - spatial + index];
    axis = {x[index + 2],
            y[index + 2],
            kernel[index],
            strides[index],
            dilations[index],
            pads[index],
            pads[index + spatial]};
    for (const std::int64_t number : {axis.kernel, axis.stride, axis.dilation, axis.in, axis.out}) {
      require(number >= 0 && number < kMost, spec, "a number is out of range");
    }
    require(
        std::abs(axis.begin) < kMost && std::abs(axis.end) < kMost, spec, "a pad is out of range");
  }
  return window;
}

void add_position(const PoolPlan& plan, double value, Accumulator& sum) {
  switch (plan.pool) {
    case Pool::kMax:
      sum.value = std::max(sum.value, value);
      return;
    case Pool::kPower:
      sum.value += std::pow(std::abs(value), plan.power);
      return;
    default:
      sum.value += value;
  }
}

void add_axis(const PoolPlan& plan,
              const float* plane,
              const std::array<std::int64_t, kSpatial>& at,
              std::size_t depth,
              std::int64_t offset,
              bool inside,
              bool padded,
              Accumulator& sum) {
  if (depth == kSpatial) {
    sum.padded += padded ? 1 : 0;
    if (inside) {
      ++sum.inside;
      add_position(plan, plane[offset], sum);
    }
    return;
  }
  const Axis& axis = plan.window[depth];
  for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
    const std::int64_t position = at[depth] * axis.stride - axis.begin + tap * axis.dilation;
    const bool here = position >= 0 && position < axis.in;
    add_axis(plan,
             plane,
             at,
             depth + 1,
             offset * axis.in + (here ? position : 0),
             inside && here,
             padded && position < axis.in + axis.end,
             sum);
  }
}

double compute_result(const PoolPlan& plan, const Accumulator& sum) {
  switch (plan.pool) {
    case Pool::kMax:
      return sum.value;
    case Pool::kPower:
      return std::pow(sum.value, 1 / plan.power);
    case Pool::kAverage:
      return sum.value / static_cast<double>(sum.inside);
    case Pool::kAverageWithPads:
      return sum.value / static_cast<double>(sum.padded);
  }
  return 0;
}

void pool_plane(const PoolPlan& plan, const float* in, float* out) {
  std::array<std::int64_t, kSpatial> at{};
  const auto& [depth, rows, columns] = plan.window;
  for (at[0] = 0; at[0] < depth.out; ++at[0]) {
    for (at[1] = 0; at[1] < rows.out; ++at[1]) {
      for (at[2] = 0; at[2] < columns.out; ++at[2]) {
        Accumulator sum;
        sum.value = plan.pool == Pool::kMax ? -std::numeric_limits<double>::infinity() : 0;
        add_axis(plan, in, at, 0, 0, true, true, sum);
        *out++ = static_cast<float>(compute_result(plan, sum));
      }
    }
  }
}

void add_pool(const model::LayerSpec& spec, VariantBuilder::List& list, const PoolPlan& plan) {
  const model::DataType x = spec.inputs[0]->dtype;
  const model::DataType y = spec.outputs[0].dtype;
  check_number(x);
  check_number(y);
  std::size_t in_size = 1;
  std::size_t out_size = 1;
  for (const Axis& axis : plan.window) {
    in_size *= static_cast<std::size_t>(axis.in);
    out_size *= static_cast<std::size_t>(axis.out);
  }
  const auto planes = static_cast<std::size_t>(spec.inputs[0]->dims[0] * spec.inputs[0]->dims[1]);
  auto in = std::make_shared<std::vector<float>>(in_size);
  auto out = std::make_shared<std::vector<float>>(out_size);
  add_own(list, spec, spec.op, [=](const KernelOperands& operands) {
    for (std::size_t plane = 0; plane < planes; ++plane) {
      load(x,
           operands.input(0) + plane * in_size * static_cast<std::size_t>(model::element_bytes(x)),
           in_size,
           in->data());
      pool_plane(plan, in->data(), out->data());
      store(y,
            out->data(),
            out_size,
            operands.output(0) +
                plane * out_size * static_cast<std::size_t>(model::element_bytes(y)));
    }
  });
}

}  // namespace

void pool_max(const model::LayerSpec& spec, const Device& /*device*/, VariantBuilder::List& list) {
  add_pool(spec, list, {read_window(spec), Pool::kMax, 1});
}

void pool_average(const model::LayerSpec& spec,
                  const Device& /*device*/,
                  VariantBuilder::List& list) {
  const bool pads = spec.integer("count_include_pad") != 0;
  add_pool(spec, list, {read_window(spec), pads ? Pool::kAverageWithPads : Pool::kAverage, 1});
}

void pool_power(const model::LayerSpec& spec,
                const Device& /*device*/,
                VariantBuilder::List& list) {
  require(spec.integer("p") > 0, spec, "p must be positive");
  add_pool(spec, list, {read_window(spec), Pool::kPower, static_cast<double>(spec.integer("p"))});
}

namespace {

/// One axis of a resize.
struct ResizedAxis {
  double in = 0;   ///< extent
  double out = 0;  ///< extent
  double scale = 1;
};

double source_coordinate(const model::LayerSpec& spec, const ResizedAxis& axis, double at) {
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

std::vector<ResizeTap> taps_around(const model::LayerSpec& spec,
                                   const ResizedAxis& axis,
                                   double x) {
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
  const ResizedAxis geometry{
      static_cast<double>(x[axis]), static_cast<double>(y[axis]), scales[axis]};
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

void interpolate_resize(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list) {
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
