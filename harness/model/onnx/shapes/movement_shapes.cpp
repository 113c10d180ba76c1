// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "harness/model/key/shape_rules.hpp"

namespace plumb::model::shape_rules {
namespace {

Dims without_axes(const Dims& x, const Dims& axes, bool keep, const char* field) {
  Dims result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(x.size()) &&
                (i == 0 || axes[i - 1] < axes[i]),
            field,
            "not ascending, or beyond the rank");
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) {
      result.push_back(x[i]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  return result;
}

}  // namespace

Dims concat_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const std::size_t axis = read_axis(spec, "axis", result.size());
  for (std::size_t i = 1; i < own_operands(spec); ++i) {
    require(spec.has_input(i) && dims(spec, i).size() == result.size(),
            "in",
            "operands of different ranks");
    for (std::size_t j = 0; j < result.size(); ++j) {
      require(j == axis || dims(spec, i)[j] == result[j], "in", "operands differ off the axis");
    }
    result[axis] += dims(spec, i)[axis];
  }
  return result;
}

Dims split_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::size_t axis = read_axis(spec, "axis", x.size());
  std::int64_t sum = 0;
  for (const TensorType& output : spec.outputs) {
    require(output.dims.size() == x.size(), "out", "outputs of another rank");
    for (std::size_t j = 0; j < x.size(); ++j) {
      require(j == axis || output.dims[j] == x[j], "out", "outputs differ off the axis");
    }
    sum += output.dims[axis];
  }
  require(sum == x[axis], "out", "parts of {} in all for an extent of {}", sum, x[axis]);
  return spec.outputs[0].dims;
}

Dims slice_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims& out = spec.outputs[0].dims;
  const Dims& axes = spec.integers("axes");
  const Dims& starts = read_list(spec, "starts", axes.size(), 0);
  const Dims& steps = spec.integers("steps");
  require(out.size() == x.size(), "out", "another rank than the input");
  require(steps.size() == axes.size(), "steps", "not one for each axis");
  Dims result = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(x.size()) &&
                (i == 0 || axes[i - 1] < axes[i]),
            "axes",
            "not ascending, or beyond the rank");
    const auto axis = static_cast<std::size_t>(axes[i]);
    require(steps[i] != 0 && std::abs(static_cast<double>(steps[i])) < 0x1p62,
            "steps",
            "zero or out of range");
    if (out[axis] > 0) {
      const double last = static_cast<double>(starts[i]) +
                          static_cast<double>(out[axis] - 1) * static_cast<double>(steps[i]);
      require(starts[i] < x[axis] && last >= 0 && last < static_cast<double>(x[axis]),
              "starts",
              "elements beyond the extent of {}",
              x[axis]);
    }
    result[axis] = out[axis];
  }
  return result;
}

Dims pad_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const std::size_t rank = result.size();
  const Dims& pads = read_list(spec, "pads", 2 * rank, -(std::int64_t{1} << 40));
  for (std::size_t i = 0; i < rank; ++i) {
    result[i] += pads[i] + pads[i + rank];
  }
  return result;
}

Dims transpose_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims& perm = read_list(spec, "perm", x.size(), 0);
  std::vector<bool> seen(x.size(), false);
  Dims result;
  for (const std::int64_t axis : perm) {
    const auto index = static_cast<std::size_t>(axis);
    require(index < x.size() && !seen[index], "perm", "not a permutation");
    seen[index] = true;
    result.push_back(x[index]);
  }
  return result;
}

Dims view_dims(const LayerSpec& spec) {
  const std::int64_t before = element_count(*spec.inputs[0]);
  const std::int64_t after = element_count(spec.outputs[0]);
  require(before == after && spec.inputs[0]->dtype == spec.outputs[0].dtype,
          "out",
          "a view of {} elements as {}",
          before,
          after);
  return spec.outputs[0].dims;
}

Dims gather_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const auto axis = static_cast<std::ptrdiff_t>(read_axis(spec, "axis", x.size()));
  Dims result(x.begin(), x.begin() + axis);
  result.insert(result.end(), dims(spec, 1).begin(), dims(spec, 1).end());
  result.insert(result.end(), x.begin() + axis + 1, x.end());
  return result;
}

Dims resize_dims(const LayerSpec& spec) {
  const std::size_t rank = dims(spec, 0).size();
  require(spec.outputs[0].dims.size() == rank, "out", "another rank than the input");
  require(spec.reals("scales").size() == rank, "scales", "not one for each dimension");
  for (const double scale : spec.reals("scales")) {
    require(scale > 0.0 && scale <= 0x1p20, "scales", "{} is out of range", scale);
  }
  return spec.outputs[0].dims;
}

Dims reduce_dims(const LayerSpec& spec) {
  return without_axes(dims(spec, 0), spec.integers("axes"), spec.integer("keepdims") != 0, "axes");
}

Dims arg_reduce_dims(const LayerSpec& spec) {
  return without_axes(dims(spec, 0), {spec.integer("axis")}, spec.integer("keepdims") != 0, "axis");
}

Dims expand_dims(const LayerSpec& spec) {
  require_broadcast_to(*spec.inputs[0], spec.outputs[0].dims);
  return spec.outputs[0].dims;
}

Dims tile_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const Dims& repeats = read_list(spec, "repeats", result.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    require(
        repeats[i] < (1 << 20) && result[i] < (std::int64_t{1} << 41), "repeats", "out of range");
    result[i] *= repeats[i];
  }
  return result;
}

Dims block_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::int64_t block = spec.integer("block");
  require(x.size() == 4, "in", "four dimensions are needed");
  require(block >= 1 && block <= 4096, "block", "{} is out of range", block);
  if (spec.op == "depth_to_space") {
    require(x[1] % (block * block) == 0, "block", "{} channels", x[1]);
    return {x[0], x[1] / (block * block), x[2] * block, x[3] * block};
  }
  require(x[2] % block == 0 && x[3] % block == 0, "block", "{} × {}", x[2], x[3]);
  return {x[0], x[1] * block * block, x[2] / block, x[3] / block};
}

}  // namespace plumb::model::shape_rules
