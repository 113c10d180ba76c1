// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/tensor.hpp"
#include "harness/model/onnx/values/constant_arithmetic.hpp"

namespace plumb::model {
namespace {

ConstantValue compute_shape(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const Integers& dims = node.dims(0);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto clamp = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t end = clamp(node.integer("end", rank));
  for (std::int64_t i = clamp(node.integer("start", 0)); i < end; ++i) {
    result.integers.push_back(dims[static_cast<std::size_t>(i)]);
  }
  return result;
}

ConstantValue compute_size(const NodeView& node) {
  ConstantValue result = empty_result(node);
  result.integers.push_back(element_count(node.input_type(0)));
  return result;
}

ConstantValue cast(const NodeView& node) {
  if (is_f8(node.output_type(0).dtype)) {
    throw Unsupported("rounding of constants to 8-bit floats");
  }
  ConstantValue result = copy_elements(node);
  if (result.dtype == DataType::kBool) {
    const ConstantValue& from = node.known(0);
    for (std::size_t i = 0; i < from.size(); ++i) {
      result.integers[i] = from.number(i) != 0.0 ? 1 : 0;
    }
  } else if (result.dtype == DataType::kF32) {
    for (double& number : result.reals) {
      number = static_cast<double>(static_cast<float>(number));
    }
  }
  return result;
}

ConstantValue constant_of_shape(const NodeView& node) {
  ConstantValue result = empty_result(node);
  ConstantValue fill;
  fill.dtype = DataType::kF32;
  fill.reals = {0.0};
  if (const onnx::AttributeProto* attribute = node.attribute("value")) {
    const std::optional<ConstantValue> given = decode(attribute->t(), {});
    if (!given || given->size() != 1) {
      throw Unsupported("ConstantOfShape without one value");
    }
    fill = *given;
  }
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    append(result, fill, 0);
  }
  return result;
}

ConstantValue gather(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& data = node.known(0);
  const Integers indices = node.known_integers(1);
  const auto axis =
      static_cast<std::size_t>(NodeView::positive_axis(node.integer("axis", 0), data.dims.size()));
  const std::int64_t extent = data.dims[axis];
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < data.dims.size(); ++i) {
    inner *= static_cast<std::size_t>(data.dims[i]);
  }
  const std::size_t row = inner * static_cast<std::size_t>(extent);
  const std::size_t outer = row == 0 ? 0 : data.size() / row;
  for (std::size_t i = 0; i < outer; ++i) {
    for (const std::int64_t raw : indices) {
      const std::int64_t index = raw < 0 ? raw + extent : raw;
      if (index < 0 || index >= extent) {
        throw Unsupported(fmt::format("index {} of {}", raw, extent));
      }
      for (std::size_t j = 0; j < inner; ++j) {
        append(result, data, i * row + static_cast<std::size_t>(index) * inner + j);
      }
    }
  }
  return result;
}

ConstantValue concat(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const auto axis = static_cast<std::size_t>(
      NodeView::positive_axis(node.integer("axis", 0), result.dims.size()));
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) {
    outer *= static_cast<std::size_t>(result.dims[i]);
  }
  for (std::size_t i = 0; i < outer; ++i) {
    for (std::size_t part = 0; part < node.input_count(); ++part) {
      const ConstantValue& from = node.known(part);
      const std::size_t row = from.size() / outer;
      for (std::size_t j = 0; j < row; ++j) {
        append(result, from, i * row + j);
      }
    }
  }
  return result;
}

ConstantValue slice(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  const std::size_t rank = from.dims.size();
  Integers first(rank, 0);
  Integers step(rank, 1);
  const Integers starts =
      node.opset() < 10 ? node.integers("starts").value_or(Integers{}) : node.known_integers(1);
  std::optional<Integers> axes = node.opset() < 10 ? node.integers("axes") : std::nullopt;
  if (node.opset() >= 10 && node.has_input(3)) {
    axes = node.known_integers(3);
  }
  const Integers steps =
      node.opset() >= 10 && node.has_input(4) ? node.known_integers(4) : Integers(starts.size(), 1);
  if ((axes && axes->size() != starts.size()) || steps.size() != starts.size()) {
    throw Unsupported("starts, axes and steps of different lengths");
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t raw_axis = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    const auto axis = static_cast<std::size_t>(NodeView::positive_axis(raw_axis, rank));
    const std::int64_t extent = from.dims[axis];
    const std::int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    first[axis] = std::clamp<std::int64_t>(
        start, 0, std::max<std::int64_t>(extent - (steps[i] < 0 ? 1 : 0), 0));
    step[axis] = steps[i];
  }
  const std::size_t size = count(result);
  for (std::size_t flat = 0; flat < size; ++flat) {
    std::size_t rest = flat;
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (std::size_t i = rank; i-- > 0;) {
      const auto extent = static_cast<std::size_t>(result.dims[i]);
      const std::int64_t at = first[i] + static_cast<std::int64_t>(rest % extent) * step[i];
      rest /= extent;
      if (at < 0 || at >= from.dims[i]) {
        throw Unsupported("a slice beyond its input");
      }
      index += at * stride;
      stride *= from.dims[i];
    }
    append(result, from, static_cast<std::size_t>(index));
  }
  return result;
}

ConstantValue expand(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    append(result, from, broadcast_index(i, result.dims, from.dims));
  }
  return result;
}

/// Returns a triangle of the last two axes, as in the causal masks of exported transformers.
ConstantValue triangle(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  if (result.dims.size() < 2 || (node.has_input(1) && node.known(1).size() != 1)) {
    throw Unsupported("Trilu of less than a matrix, or not by one diagonal");
  }
  const std::int64_t columns = std::max<std::int64_t>(result.dims.back(), 1);
  const std::int64_t rows = std::max<std::int64_t>(result.dims[result.dims.size() - 2], 1);
  const std::int64_t diagonal = node.has_input(1) ? node.known_integers(1)[0] : 0;
  const bool upper = node.integer("upper", 1) != 0;
  const ConstantValue nothing{result.dtype, {}, {0}, {0.0}};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto flat = static_cast<std::int64_t>(i);
    const std::int64_t above = flat % columns - flat / columns % rows;
    // Compared without `above − diagonal`, which may overflow.
    const bool kept = upper ? above >= diagonal : above <= diagonal;
    append(result, kept ? from : nothing, kept ? i : 0);
  }
  return result;
}

ConstantValue range(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const std::size_t size = count(result);
  if (node.known(0).size() != 1 || node.known(2).size() != 1) {
    throw Unsupported("Range with a list as a limit");
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (result.is_real()) {
      result.reals.push_back(node.known(0).number(0) +
                             static_cast<double>(i) * node.known(2).number(0));
    } else {
      result.integers.push_back(apply_integer(
          "Add",
          node.known_integers(0)[0],
          apply_integer("Mul", static_cast<std::int64_t>(i), node.known_integers(2)[0])));
    }
  }
  return result;
}

struct EvaluatorRow {
  std::string_view op;
  ConstantValue (*run)(const NodeView&);
};

constexpr std::array kEvaluators = std::to_array<EvaluatorRow>({
    {"Shape", compute_shape},
    {"Size", compute_size},
    {"Identity", copy_elements},
    {"Reshape", copy_elements},
    {"Flatten", copy_elements},
    {"Squeeze", copy_elements},
    {"Unsqueeze", copy_elements},
    {"Cast", cast},
    {"CastLike", cast},
    {"ConstantOfShape", constant_of_shape},
    {"Gather", gather},
    {"Concat", concat},
    {"Slice", slice},
    {"Add", binary},
    {"Sub", binary},
    {"Mul", binary},
    {"Div", binary},
    {"Mod", binary},
    {"Pow", binary},
    {"Min", binary},
    {"Max", binary},
    {"Equal", binary},
    {"Greater", binary},
    {"Less", binary},
    {"GreaterOrEqual", binary},
    {"LessOrEqual", binary},
    {"And", binary},
    {"Or", binary},
    {"Floor", unary},
    {"Ceil", unary},
    {"Round", unary},
    {"Neg", unary},
    {"Abs", unary},
    {"Sqrt", unary},
    {"Reciprocal", unary},
    {"Not", unary},
    {"Where", where},
    {"Expand", expand},
    {"Trilu", triangle},
    {"Range", range},
    {"ReduceProd", reduce},
    {"ReduceSum", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
});

}  // namespace

std::optional<ConstantValue> evaluate(const NodeView& node) {
  for (const EvaluatorRow& row : kEvaluators) {
    if (row.op == node.op()) {
      if (!node.has_output(0) || !node.output(0)->type ||
          element_count(node.output_type(0)) > ConstantValue::kMaxElements) {
        return std::nullopt;
      }
      try {
        ConstantValue result = row.run(node);
        if (result.size() != count(result)) {
          return std::nullopt;
        }
        return result;
      } catch (const Unsupported&) {
        return std::nullopt;  // a value that is not known is no failure: its reader says so if it
                              // needs it
      }
    }
  }
  return std::nullopt;
}

}  // namespace plumb::model
