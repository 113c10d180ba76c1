// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "runners/onednn/exec/layers.hpp"
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

void add_pool(const model::LayerSpec& spec, BuilderList& list, const PoolPlan& plan) {
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

void pool_max(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  add_pool(spec, list, {read_window(spec), Pool::kMax, 1});
}

void pool_average(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  const bool pads = spec.integer("count_include_pad") != 0;
  add_pool(spec, list, {read_window(spec), pads ? Pool::kAverageWithPads : Pool::kAverage, 1});
}

void pool_power(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require(spec.integer("p") > 0, spec, "p must be positive");
  add_pool(spec, list, {read_window(spec), Pool::kPower, static_cast<double>(spec.integer("p"))});
}

}  // namespace plumb::onednn
