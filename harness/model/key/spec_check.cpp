// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/spec_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/shape_rules.hpp"

namespace plumb::model {
namespace {

using Problem = std::optional<SpecProblem>;

Problem problem(std::string field, std::string text) {
  return SpecProblem{std::move(field), std::move(text)};
}

Problem check_operands(const LayerSpec& spec, const OpSchema& schema) {
  std::size_t extra = 0;  // operands that only the epilogue reads stand behind the operator's own
  for (const Epilogue& step : spec.epilogue) {
    extra += step.operand.has_value() ? 1U : 0U;
  }
  const std::size_t own = spec.inputs.size() - std::min(extra, spec.inputs.size());
  if (spec.inputs.size() < schema.min_inputs || own > schema.max_inputs) {
    return problem("in", fmt::format("{} operands for operator '{}'", spec.inputs.size(), spec.op));
  }
  for (std::size_t i = 0; i < schema.min_inputs; ++i) {
    if (!spec.inputs[i]) {
      return problem("in", fmt::format("operand {} of operator '{}' is missing", i, spec.op));
    }
  }
  if (spec.outputs.empty() || spec.outputs.size() > schema.max_outputs) {
    return problem("out",
                   fmt::format("{} outputs for operator '{}'", spec.outputs.size(), spec.op));
  }
  for (const TensorType& output : spec.outputs) {
    if (output.constant) {
      return problem("out", "an output cannot be constant");
    }
  }
  return std::nullopt;
}

Problem check_words(const LayerSpec& spec, const OpSchema& schema) {
  for (std::size_t i = 0; i < schema.attribute_count(); ++i) {
    const OpSchema::Attribute& row = schema.attributes[i];
    if (row.kind == OpSchema::Attribute::Kind::kWord && !row.words.empty() &&
        !is_one_of(row.words, spec.text(std::string(row.name)))) {
      return problem(
          std::string(row.name),
          fmt::format("'{}' is not one of {}", spec.text(std::string(row.name)), row.words));
    }
  }
  return std::nullopt;
}

Problem check_function(const std::string& field, const std::string& fn, std::size_t parameters) {
  const std::optional<std::size_t> count = eltwise_parameter_count(fn);
  if (!count) {
    return problem(field, fmt::format("'{}' is not an element-wise function", fn));
  }
  if (*count != parameters) {
    return problem(field, fmt::format("'{}' takes {} parameters, not {}", fn, *count, parameters));
  }
  return std::nullopt;
}

Problem check_epilogue(const LayerSpec& spec) {
  for (const Epilogue& step : spec.epilogue) {
    if (is_binary_function(step.fn) || step.fn == kBitMask) {
      if (!step.operand || !spec.has_input(*step.operand) || !step.parameters.empty()) {
        return problem(
            "epilogue",
            fmt::format("'{}' needs '@' and the index of an operand, and no parameters", step.fn));
      }
    } else if (const std::optional<std::string_view> fn = function_of_gradient(step.fn)) {
      if (Problem wrong = check_function("epilogue", std::string(*fn), step.parameters.size())) {
        return wrong;
      }
      if (!step.operand || !spec.has_input(*step.operand)) {
        return problem("epilogue",
                       fmt::format("'{}' needs '@' and the index of an operand", step.fn));
      }
    } else if (Problem wrong = check_function("epilogue", step.fn, step.parameters.size())) {
      return wrong;
    } else if (step.operand) {
      return problem("epilogue", fmt::format("'{}' takes no operand", step.fn));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpecProblem> check_spec(const LayerSpec& spec) {
  const OpSchema* schema = find_op_schema(spec.op);
  if (schema == nullptr) {
    return problem("operator",
                   fmt::format("'{}' is not an operator of docs/reference/layer-keys.md", spec.op));
  }
  if (Problem wrong = check_operands(spec, *schema)) {
    return wrong;
  }
  if (Problem wrong = check_words(spec, *schema)) {
    return wrong;
  }
  if (Problem wrong = check_epilogue(spec)) {
    return wrong;
  }
  if (spec.op == "eltwise" || spec.op == "eltwise_backward") {
    if (Problem wrong = check_function("fn", spec.text("fn"), spec.reals("parameters").size())) {
      return wrong;
    }
  }
  if (spec.op == "eltwise_backward" && !function_of_gradient(spec.text("fn") + "_backward")) {
    return problem("fn", fmt::format("'{}' has no gradient", spec.text("fn")));
  }
  return check_shapes(spec);
}

namespace shape_rules {

std::size_t read_axis(const LayerSpec& spec, const char* name, std::size_t rank) {
  const std::int64_t axis = spec.integer(name);
  require(axis >= 0 && axis < static_cast<std::int64_t>(rank),
          name,
          "axis {} of a tensor of rank {}",
          axis,
          rank);
  return static_cast<std::size_t>(axis);
}

const Dims& read_list(const LayerSpec& spec,
                      const char* name,
                      std::size_t size,
                      std::int64_t least) {
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

}  // namespace shape_rules

namespace {

using namespace shape_rules;  // NOLINT(google-build-using-namespace): the table below is its index

/// Checks a mask of one bit an element. Rows are padded to 128 bits.
void require_bits(const TensorType& mask, const Dims& result) {
  constexpr std::int64_t kRowBits = 128;
  constexpr std::int64_t kByteBits = 8;
  Dims expected = result;
  require(!expected.empty(), "epilogue", "a scalar has no rows for '{}'", kBitMask);
  expected.back() = (expected.back() + kRowBits - 1) / kRowBits * (kRowBits / kByteBits);
  require(mask.dtype == DataType::kU8 && mask.dims == expected,
          "in",
          "the operand of '{}' is not u8[{}]",
          kBitMask,
          fmt::join(expected, ","));
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
    {"rnn", recurrent_dims},
    {"gru", recurrent_dims},
    {"lstm", recurrent_dims},
    {"attention", attention_dims},
    {"matmul_integer", matmul_integer_dims},
    {"conv_integer", conv_integer_dims},
    {"quantize", quantize_dims},
    {"dequantize", dequantize_dims},
    {"max", sum_dims},
    {"min", sum_dims},
    {"conv_backward_data", conv_gradient_dims},
    {"conv_backward_weights", conv_gradient_dims},
    {"gemm_bias_gradient", gemm_bias_gradient_dims},
    {"eltwise_backward", eltwise_gradient_dims},
    {"softmax_backward", softmax_gradient_dims},
    {"attention_backward", attention_gradient_dims},
    {"batch_norm_training", batch_norm_training_dims},
    {"batch_norm_backward", batch_norm_gradient_dims},
    {"layer_norm_backward", layer_norm_gradient_dims},
    {"max_pool_backward", pool_gradient_dims},
    {"gather_backward", gather_gradient_dims},
    {"average_pool_backward", pool_gradient_dims},
    {"sgd", update_dims},
    {"adam", update_dims},
    {"lamb", update_dims},
    {"loss_scale", loss_scale_dims},
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
      if (step.fn == kBitMask) {
        require_bits(*spec.inputs[*step.operand], spec.outputs[0].dims);
      } else if (step.operand) {
        require_broadcast_to(*spec.inputs[*step.operand], spec.outputs[0].dims);
      }
    }
  } catch (const Mismatch& mismatch) {
    return SpecProblem{mismatch.field, mismatch.what()};
  }
  return std::nullopt;
}

}  // namespace plumb::model
