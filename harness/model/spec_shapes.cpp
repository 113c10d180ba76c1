// SPDX-License-Identifier: Apache-2.0
#include "harness/model/spec_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "harness/model/op_schema.hpp"

namespace plumb {
namespace {

using Dims = std::vector<std::int64_t>;

/// Leaves a check at the first thing that does not fit.
struct Mismatch : std::runtime_error {
  Mismatch(std::string in_field, const std::string& text)
      : std::runtime_error(text), field(std::move(in_field)) {}
  std::string field;
};

template <typename... Args>
void require(bool condition, const char* field, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) {
    throw Mismatch(field, fmt::format(text, std::forward<Args>(args)...));
  }
}

std::size_t axis_of(const LayerSpec& spec, const char* name, std::size_t rank) {
  const std::int64_t axis = spec.integer(name);
  require(axis >= 0 && axis < static_cast<std::int64_t>(rank),
          name,
          "axis {} of a tensor of rank {}",
          axis,
          rank);
  return static_cast<std::size_t>(axis);
}

const Dims& list_of(const LayerSpec& spec, const char* name, std::size_t size, std::int64_t least) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const Dims& list = spec.integers(name);
  require(list.size() == size, name, "{} numbers where {} are needed", list.size(), size);
  for (const std::int64_t number : list) {
    require(number >= least && number <= kMost, name, "{} is out of range", number);
  }
  return list;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims result = a.size() >= b.size() ? a : b;
  const Dims& other = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& extent = result[result.size() - 1 - i];
    const std::int64_t theirs = other[other.size() - 1 - i];
    require(extent == theirs || extent == 1 || theirs == 1,
            "in",
            "[{}] and [{}] do not broadcast",
            fmt::join(a, ","),
            fmt::join(b, ","));
    extent = extent == 1 ? theirs : extent;
  }
  return result;
}

void require_broadcast_to(const TensorType& operand, const Dims& dims) {
  require(broadcast(operand.dims, dims) == dims,
          "in",
          "[{}] does not broadcast to [{}]",
          fmt::join(operand.dims, ","),
          fmt::join(dims, ","));
}

const Dims& dims(const LayerSpec& spec, std::size_t index) {
  return spec.inputs[index]->dims;
}

std::size_t spatial_rank(const LayerSpec& spec) {
  require(dims(spec, 0).size() >= 3, "in", "a rank below 3 has no spatial extents");
  return dims(spec, 0).size() - 2;
}

/// Computes the windows along each spatial axis; `up` rounds up.
void append_windows(const LayerSpec& spec, const Dims& kernel, bool up, Dims& result) {
  const std::size_t rank = spatial_rank(spec);
  const Dims& strides = list_of(spec, "strides", rank, 1);
  const Dims& dilations = list_of(spec, "dilations", rank, 1);
  const Dims& pads = list_of(spec, "pads", 2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    require(
        kernel[i] >= 1 && kernel[i] <= (std::int64_t{1} << 20), "kernel", "an extent out of range");
    require(dilations[i] <= (std::int64_t{1} << 20), "dilations", "an extent out of range");
    const std::int64_t padded = dims(spec, 0)[i + 2] + pads[i] + pads[i + rank];
    const std::int64_t room = padded - ((kernel[i] - 1) * dilations[i] + 1);
    require(room >= 0, "in", "a window larger than the padded extent {}", padded);
    std::int64_t windows = room / strides[i] + 1;
    if (up && room % strides[i] != 0 && windows * strides[i] < dims(spec, 0)[i + 2] + pads[i]) {
      ++windows;  // a further window counts if it begins inside the input or its left padding
    }
    result.push_back(windows);
  }
}

Dims conv_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec) + 2;
  const Dims& x = dims(spec, 0);
  const Dims& w = dims(spec, 1);
  const std::int64_t group = spec.integer("group");
  require(w.size() == rank, "in", "weights of another rank than the input");
  require(group >= 1 && w[0] % group == 0, "group", "{} groups for {} outputs", group, w[0]);
  require(x[1] % group == 0 && x[1] / group == w[1],
          "in",
          "{} channels in {} groups for weights of {}",
          x[1],
          group,
          w[1]);
  require(!spec.has_input(2) || dims(spec, 2) == Dims{w[0]},
          "in",
          "a bias that is not one number an output");
  Dims result = {x[0], w[0]};
  append_windows(spec, Dims(w.begin() + 2, w.end()), false, result);
  return result;
}

Dims conv_transpose_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec);
  const Dims& x = dims(spec, 0);
  const Dims& w = dims(spec, 1);
  const std::int64_t group = spec.integer("group");
  require(w.size() == rank + 2, "in", "weights of another rank than the input");
  require(group >= 1 && group <= (1 << 20) && x[1] % group == 0 && x[1] == w[0],
          "group",
          "{} groups, {} channels, weights of {}",
          group,
          x[1],
          w[0]);
  require(!spec.has_input(2) || dims(spec, 2) == Dims{w[1] * group},
          "in",
          "a bias that is not one number an output");
  Dims result = {x[0], w[1] * group};
  const Dims& strides = list_of(spec, "strides", rank, 1);
  const Dims& dilations = list_of(spec, "dilations", rank, 1);
  const Dims& pads = list_of(spec, "pads", 2 * rank, 0);
  const Dims& more = list_of(spec, "output_padding", rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    require(x[i + 2] < (1 << 20) && strides[i] < (1 << 20) && w[i + 2] < (1 << 20) &&
                dilations[i] < (1 << 20),
            "in",
            "an extent out of range");
    result.push_back((x[i + 2] - 1) * strides[i] + (w[i + 2] - 1) * dilations[i] + 1 + more[i] -
                     pads[i] - pads[i + rank]);
  }
  return result;
}

Dims gemm_dims(const LayerSpec& spec) {
  const Dims& a = dims(spec, 0);
  const Dims& b = dims(spec, 1);
  require(a.size() == 2 && b.size() == 2, "in", "the operands of a gemm are matrices");
  const std::size_t ta = spec.integer("trans_a") != 0 ? 1 : 0;
  const std::size_t tb = spec.integer("trans_b") != 0 ? 1 : 0;
  require(a[1 - ta] == b[tb], "in", "inner extents {} and {}", a[1 - ta], b[tb]);
  Dims result = {a[ta], b[1 - tb]};
  if (spec.has_input(2)) {
    require_broadcast_to(*spec.inputs[2], result);
  }
  return result;
}

Dims matmul_dims(const LayerSpec& spec) {
  Dims a = dims(spec, 0);
  Dims b = dims(spec, 1);
  require(!a.empty() && !b.empty(), "in", "a scalar operand of a matmul");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) {
    a.insert(a.begin(), 1);
  }
  if (column) {
    b.push_back(1);
  }
  require(a.back() == b[b.size() - 2], "in", "inner extents {} and {}", a.back(), b[b.size() - 2]);
  Dims result = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!row) {
    result.push_back(a[a.size() - 2]);
  }
  if (!column) {
    result.push_back(b.back());
  }
  return result;
}

Dims like_input(const LayerSpec& spec) {
  return dims(spec, 0);
}

Dims batch_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims each = spec.text("mode") == "spatial" ? Dims{x.size() > 1 ? x[1] : 1}
                                                   : Dims(x.begin() + (x.empty() ? 0 : 1), x.end());
  for (std::size_t i = 1; i < 5; ++i) {
    require(dims(spec, i) == each, "in", "operand {} is not [{}]", i, fmt::join(each, ","));
  }
  return x;
}

Dims axis_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::size_t axis = axis_of(spec, "axis", x.size());
  for (std::size_t i = 1; i < 3; ++i) {
    if (spec.has_input(i)) {
      require_broadcast_to(*spec.inputs[i],
                           Dims(x.begin() + static_cast<std::ptrdiff_t>(axis), x.end()));
    }
  }
  return x;
}

Dims channel_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  require(x.size() >= 2, "in", "a rank below 2 has no channels");
  std::int64_t size = x[1];
  if (spec.op == "group_norm") {
    const std::int64_t groups = spec.integer("groups");
    require(groups >= 1 && x[1] % groups == 0, "groups", "{} groups of {} channels", groups, x[1]);
    size =
        dims(spec, 1) == Dims{groups} ? groups : size;  // GroupNormalization-18 scales each group
  }
  require(dims(spec, 1) == Dims{size} && dims(spec, 2) == Dims{size},
          "in",
          "scale and bias are not one a channel");
  return x;
}

Dims lrn_dims(const LayerSpec& spec) {
  require(dims(spec, 0).size() >= 2, "in", "a rank below 2 has no channels");
  require(spec.integer("size") >= 1, "size", "the window is empty");
  return dims(spec, 0);
}

Dims softmax_dims(const LayerSpec& spec) {
  if (!dims(spec, 0).empty()) {
    static_cast<void>(axis_of(spec, "axis", dims(spec, 0).size()));
  }
  return dims(spec, 0);
}

Dims pool_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec);
  Dims result = {dims(spec, 0)[0], dims(spec, 0)[1]};
  append_windows(spec, list_of(spec, "kernel", rank, 1), spec.integer("ceil_mode") != 0, result);
  return result;
}

Dims binary_dims(const LayerSpec& spec) {
  return broadcast(dims(spec, 0), dims(spec, 1));
}

Dims prelu_dims(const LayerSpec& spec) {
  require_broadcast_to(*spec.inputs[1], dims(spec, 0));
  return dims(spec, 0);
}

Dims where_dims(const LayerSpec& spec) {
  return broadcast(dims(spec, 0), broadcast(dims(spec, 1), dims(spec, 2)));
}

/// Counts the operands of a variadic operator: those at the end that the epilogue reads are not its
/// own.
std::size_t own_operands(const LayerSpec& spec) {
  std::size_t count = spec.inputs.size();
  while (count > 1 &&
         std::any_of(spec.epilogue.begin(), spec.epilogue.end(), [&](const Epilogue& step) {
           return step.operand == count - 1;
         })) {
    --count;
  }
  return count;
}

Dims sum_dims(const LayerSpec& spec) {
  for (std::size_t i = 1; i < own_operands(spec); ++i) {
    require(
        spec.has_input(i) && dims(spec, i) == dims(spec, 0), "in", "operands of different shapes");
  }
  return dims(spec, 0);
}

Dims concat_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const std::size_t axis = axis_of(spec, "axis", result.size());
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
  const std::size_t axis = axis_of(spec, "axis", x.size());
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
  const Dims& starts = list_of(spec, "starts", axes.size(), 0);
  const Dims& steps = spec.integers("steps");
  require(out.size() == x.size(), "out", "another rank than the input");
  require(steps.size() == axes.size(), "steps", "not one an axis");
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
  const Dims& pads = list_of(spec, "pads", 2 * rank, -(std::int64_t{1} << 40));
  for (std::size_t i = 0; i < rank; ++i) {
    result[i] += pads[i] + pads[i + rank];
  }
  return result;
}

Dims transpose_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims& perm = list_of(spec, "perm", x.size(), 0);
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
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(spec, "axis", x.size()));
  Dims result(x.begin(), x.begin() + axis);
  result.insert(result.end(), dims(spec, 1).begin(), dims(spec, 1).end());
  result.insert(result.end(), x.begin() + axis + 1, x.end());
  return result;
}

Dims resize_dims(const LayerSpec& spec) {
  const std::size_t rank = dims(spec, 0).size();
  require(spec.outputs[0].dims.size() == rank, "out", "another rank than the input");
  require(spec.reals("scales").size() == rank, "scales", "not one a dimension");
  for (const double scale : spec.reals("scales")) {
    require(scale > 0.0 && scale <= 0x1p20, "scales", "{} is out of range", scale);
  }
  return spec.outputs[0].dims;
}

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
  const Dims& repeats = list_of(spec, "repeats", result.size(), 0);
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

struct ShapeRow {
  std::string_view op;
  Dims (*dims)(const LayerSpec&);
};

constexpr std::array kShapes = std::to_array<ShapeRow>({
    {"conv", conv_dims},
    {"conv_transpose", conv_transpose_dims},
    {"gemm", gemm_dims},
    {"matmul", matmul_dims},
    {"batch_norm", batch_norm_dims},
    {"layer_norm", axis_norm_dims},
    {"rms_norm", axis_norm_dims},
    {"instance_norm", channel_norm_dims},
    {"group_norm", channel_norm_dims},
    {"lrn", lrn_dims},
    {"max_pool", pool_dims},
    {"average_pool", pool_dims},
    {"lp_pool", pool_dims},
    {"eltwise", like_input},
    {"prelu", prelu_dims},
    {"binary", binary_dims},
    {"sum", sum_dims},
    {"softmax", softmax_dims},
    {"concat", concat_dims},
    {"split", split_dims},
    {"slice", slice_dims},
    {"pad", pad_dims},
    {"transpose", transpose_dims},
    {"view", view_dims},
    {"gather", gather_dims},
    {"resize", resize_dims},
    {"reduce", reduce_dims},
    {"arg_reduce", arg_reduce_dims},
    {"where", where_dims},
    {"cast", like_input},
    {"expand", expand_dims},
    {"tile", tile_dims},
    {"depth_to_space", block_dims},
    {"space_to_depth", block_dims},
});

}  // namespace

std::optional<SpecProblem> check_shapes(const LayerSpec& spec) {
  try {
    for (const ShapeRow& row : kShapes) {
      if (row.op == spec.op) {
        const Dims expected = row.dims(spec);
        require(expected == spec.outputs[0].dims,
                "out",
                "[{}] where the operands make [{}]",
                fmt::join(spec.outputs[0].dims, ","),
                fmt::join(expected, ","));
      }
    }
    for (const Epilogue& step : spec.epilogue) {
      if (step.operand) {
        require_broadcast_to(*spec.inputs[*step.operand], spec.outputs[0].dims);
      }
    }
  } catch (const Mismatch& mismatch) {
    return SpecProblem{mismatch.field, mismatch.what()};
  }
  return std::nullopt;
}

}  // namespace plumb
