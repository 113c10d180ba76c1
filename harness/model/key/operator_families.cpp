// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/operator_families.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/key/shape_rules.hpp"

namespace plumb::model {

bool is_recurrent(const LayerSpec& spec) {
  return spec.op == "rnn" || spec.op == "gru" || spec.op == "lstm";
}

RecurrentShape recurrent_shape(const LayerSpec& spec) {
  const std::vector<std::int64_t>& x = spec.inputs[0]->dims;
  const std::size_t time = spec.integer("layout") == 0 ? 0 : 1;
  RecurrentShape shape;
  shape.steps = x[time];
  shape.batch = x[1 - time];
  shape.input = x[2];
  shape.hidden = spec.inputs[2]->dims[2];
  shape.directions = spec.text("direction") == "bidirectional" ? 2 : 1;
  shape.gates = spec.op == "lstm" ? 4 : (spec.op == "gru" ? 3 : 1);
  return shape;
}

namespace shape_rules {

Dims recurrent_dims(const LayerSpec& spec) {
  require(spec.integer("layout") == 0 || spec.integer("layout") == 1, "layout", "0 or 1 is needed");
  require(dims(spec, 0).size() == 3, "in", "x has rank {}, not 3", dims(spec, 0).size());
  require(dims(spec, 2).size() == 3, "in", "r has rank {}, not 3", dims(spec, 2).size());
  const RecurrentShape shape = recurrent_shape(spec);
  require(shape.hidden > 0 && shape.hidden < (std::int64_t{1} << 32),
          "in",
          "a hidden size of {}",
          shape.hidden);
  const std::int64_t rows = shape.gates * shape.hidden;
  const bool time_first = spec.integer("layout") == 0;
  const Dims state = time_first ? Dims{shape.directions, shape.batch, shape.hidden}
                                : Dims{shape.batch, shape.directions, shape.hidden};
  const auto fits = [&](std::size_t index, const Dims& expected, const char* name) {
    require(!spec.has_input(index) || dims(spec, index) == expected,
            "in",
            "{} is not [{}]",
            name,
            fmt::join(expected, ","));
  };
  fits(1, {shape.directions, rows, shape.input}, "w");
  fits(2, {shape.directions, rows, shape.hidden}, "r");
  fits(3, {shape.directions, 2 * rows}, "the bias");
  fits(4, state, "the first state");
  fits(5, state, "the first cell");
  fits(6, {shape.directions, 3 * shape.hidden}, "the peephole");
  const std::string& given = spec.text("outputs");
  require(spec.outputs.size() == given.size(),
          "out",
          "{} outputs where outputs={} says {}",
          spec.outputs.size(),
          given,
          given.size());
  const Dims sequence = time_first ? Dims{shape.steps, shape.directions, shape.batch, shape.hidden}
                                   : Dims{shape.batch, shape.steps, shape.directions, shape.hidden};
  for (std::size_t i = 1; i < given.size(); ++i) {  // the sequence can only be the first
    require(
        spec.outputs[i].dims == state, "out", "output {} is not [{}]", i, fmt::join(state, ","));
  }
  return given[0] == 'y' ? sequence : state;
}

}  // namespace shape_rules

AttentionShape attention_shape(const LayerSpec& spec) {
  const std::vector<std::int64_t>& q = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& k = spec.inputs[1]->dims;
  const std::vector<std::int64_t>& v = spec.inputs[2]->dims;
  AttentionShape shape;
  shape.heads_apart = q.size() == 4;
  shape.batch = q[0];
  shape.q_heads = spec.integer("q_heads");
  shape.kv_heads = spec.integer("kv_heads");
  shape.queries = q[q.size() - 2];
  shape.head = shape.heads_apart ? q[3] : q[2] / std::max<std::int64_t>(1, shape.q_heads);
  shape.value_head = shape.heads_apart ? v[3] : v[2] / std::max<std::int64_t>(1, shape.kv_heads);
  shape.past = spec.has_input(4) ? spec.inputs[4]->dims[2] : 0;
  shape.keys = shape.past + k[k.size() - 2];
  return shape;
}

std::int64_t attended_pairs(const LayerSpec& spec, const AttentionShape& shape) {
  // No overflow: attention_dims bounds queries and keys.
  const std::int64_t all = shape.queries * shape.keys;
  if (spec.integer("causal") == 0) {
    return all;
  }
  // The first queries see past + 1, past + 2 … keys. The others see all keys.
  const std::int64_t growing = std::min(shape.keys - shape.past, shape.queries);
  return growing * shape.past + growing * (growing + 1) / 2 +
         (shape.queries - growing) * shape.keys;
}

namespace shape_rules {

Dims attention_dims(const LayerSpec& spec) {
  const std::size_t rank = dims(spec, 0).size();
  require(rank == 3 || rank == 4, "in", "q has rank {}, not 3 or 4", rank);
  require(dims(spec, 1).size() == rank && dims(spec, 2).size() == rank,
          "in",
          "q, k and v have different ranks");
  require(
      spec.has_input(4) == spec.has_input(5), "in", "one of past key and past value is missing");
  require(
      !spec.has_input(4) || dims(spec, 4).size() == 4, "in", "the rank of the past key is not 4");
  const std::int64_t q_heads = spec.integer("q_heads");
  const std::int64_t kv_heads = spec.integer("kv_heads");
  require(kv_heads >= 1 && q_heads >= kv_heads && q_heads % kv_heads == 0,
          "q_heads",
          "{} heads of queries for {} of keys",
          q_heads,
          kv_heads);
  const AttentionShape s = attention_shape(spec);
  require(s.queries < (std::int64_t{1} << 31) && s.keys < (std::int64_t{1} << 31),
          "in",
          "{} queries and {} keys",
          s.queries,
          s.keys);
  const auto tensor = [&](std::int64_t heads, std::int64_t length, std::int64_t numbers) {
    return s.heads_apart ? Dims{s.batch, heads, length, numbers}
                         : Dims{s.batch, length, heads * numbers};
  };
  const auto fits = [&](std::size_t index, const Dims& expected, const char* name) {
    require(!spec.has_input(index) || dims(spec, index) == expected,
            "in",
            "{} is not [{}]",
            name,
            fmt::join(expected, ","));
  };
  fits(0, tensor(s.q_heads, s.queries, s.head), "q");
  fits(1, tensor(s.kv_heads, s.new_keys(), s.head), "k");
  fits(2, tensor(s.kv_heads, s.new_keys(), s.value_head), "v");
  fits(4, {s.batch, s.kv_heads, s.past, s.head}, "the past key");
  fits(5, {s.batch, s.kv_heads, s.past, s.value_head}, "the past value");
  if (spec.has_input(3)) {
    const Dims scores{s.batch, s.q_heads, s.queries, s.keys};
    require_broadcast_to(*spec.inputs[3], scores);
    require(!dims(spec, 3).empty() && dims(spec, 3).back() == s.keys,
            "in",
            "a mask that does not span all {} keys",
            s.keys);
  }
  const std::string& letters = spec.text("outputs");
  require(spec.outputs.size() == letters.size(),
          "out",
          "{} outputs where outputs={} says {}",
          spec.outputs.size(),
          letters,
          letters.size());
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const Dims present{s.batch, s.kv_heads, s.keys, letters[i] == 'k' ? s.head : s.value_head};
    require(spec.outputs[i].dims == present,
            "out",
            "output {} is not [{}]",
            i,
            fmt::join(present, ","));
  }
  return tensor(s.q_heads, s.queries, s.value_head);
}

}  // namespace shape_rules

bool is_integer_product(const LayerSpec& spec) {
  return spec.op == "conv_integer" || spec.op == "matmul_integer";
}

QuantizedProduct quantized_product(const LayerSpec& spec) {
  PLUMB_CHECK(is_integer_product(spec));
  const std::size_t first = spec.op == "conv_integer" ? 3 : 2;  // behind x, w and conv's bias
  return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
}

bool rounds_to_integers(const LayerSpec& spec) {
  return spec.op == "quantize" ||
         (is_integer_product(spec) && spec.has_input(quantized_product(spec).y_scale));
}

namespace {

constexpr std::array kSingle = std::to_array<std::string_view>({
    "conv",
    "conv_transpose",
    "conv_backward_data",
    "conv_backward_weights",
    "gemm",
    "gemm_bias_gradient",
    "matmul",
});

constexpr std::array kNormalizations = std::to_array<std::string_view>({
    "batch_norm",
    "batch_norm_training",
    "batch_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "instance_norm",
    "group_norm",
});

}  // namespace

bool is_single_product(const LayerSpec& spec) {
  return std::find(kSingle.begin(), kSingle.end(), spec.op) != kSingle.end();
}

bool is_normalization(const LayerSpec& spec) {
  return std::find(kNormalizations.begin(), kNormalizations.end(), spec.op) !=
         kNormalizations.end();
}

bool is_floating_product(const LayerSpec& spec) {
  return is_single_product(spec) || spec.op == "attention" || spec.op == "attention_backward" ||
         is_recurrent(spec);
}

}  // namespace plumb::model

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
