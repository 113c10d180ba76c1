// SPDX-License-Identifier: Apache-2.0
#include "harness/model/constant_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace plumb {
namespace {

using Integers = std::vector<std::int64_t>;

ConstantValue empty_result(const NodeView& node) {
  const TensorType& type = node.output_type(0);
  ConstantValue result;
  result.dtype = type.dtype;
  result.dims = type.dims;
  return result;
}

std::size_t count(const ConstantValue& value) {
  return static_cast<std::size_t>(
      element_count({.dtype = value.dtype, .dims = value.dims, .constant = true, .strides = {}}));
}

void append(ConstantValue& to, const ConstantValue& from, std::size_t index) {
  if (index >= from.size()) {
    throw Unsupported("an element beyond the end");
  }
  if (to.is_real()) {
    to.reals.push_back(from.number(index));
  } else if (from.is_real()) {
    const double number = from.reals[index];
    if (!(std::abs(number) < 0x1p62)) {
      throw Unsupported("a number does not fit in 64 bits");
    }
    to.integers.push_back(static_cast<std::int64_t>(number));
  } else {
    to.integers.push_back(from.integers[index]);
  }
}

/// Maps a flat index of `dims` to the flat index of the element of `from` that broadcasting reads.
std::size_t broadcast_index(std::size_t flat, const Integers& dims, const Integers& from) {
  std::size_t index = 0;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto extent = static_cast<std::size_t>(dims[dims.size() - 1 - i]);
    const std::size_t position = flat % extent;
    flat /= extent;
    if (i < from.size()) {
      const auto own = static_cast<std::size_t>(from[from.size() - 1 - i]);
      index += own == 1 ? 0 : position * stride;
      stride *= own;
    }
  }
  return index;
}

ConstantValue shape_of(const NodeView& node) {
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

ConstantValue size_of(const NodeView& node) {
  ConstantValue result = empty_result(node);
  result.integers.push_back(element_count(node.input_type(0)));
  return result;
}

ConstantValue copy_elements(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    append(result, from, i);
  }
  return result;
}

ConstantValue cast(const NodeView& node) {
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

double apply_real(std::string_view op, double a, double b) {
  if (op == "Add")
    return a + b;
  if (op == "Sub")
    return a - b;
  if (op == "Mul")
    return a * b;
  if (op == "Div")
    return a / b;
  if (op == "Min")
    return std::min(a, b);
  if (op == "Max")
    return std::max(a, b);
  if (op == "Pow")
    return std::pow(a, b);
  if (op == "Equal")
    return a == b ? 1.0 : 0.0;
  if (op == "Greater")
    return a > b ? 1.0 : 0.0;
  if (op == "Less")
    return a < b ? 1.0 : 0.0;
  if (op == "GreaterOrEqual")
    return a >= b ? 1.0 : 0.0;
  if (op == "LessOrEqual")
    return a <= b ? 1.0 : 0.0;
  throw Unsupported(fmt::format("{} of constants", op));
}

std::int64_t apply_integer(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add" && !__builtin_add_overflow(a, b, &result))
    return result;
  if (op == "Sub" && !__builtin_sub_overflow(a, b, &result))
    return result;
  if (op == "Mul" && !__builtin_mul_overflow(a, b, &result))
    return result;
  if (op == "Div" || op == "Mod") {
    if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) {
      throw Unsupported(fmt::format("{} / {}", a, b));
    }
    if (op == "Div")
      return a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? a % b + b : a % b;
  }
  if (op == "Min")
    return std::min(a, b);
  if (op == "Max")
    return std::max(a, b);
  if (op == "Equal")
    return a == b ? 1 : 0;
  if (op == "Greater")
    return a > b ? 1 : 0;
  if (op == "Less")
    return a < b ? 1 : 0;
  if (op == "GreaterOrEqual")
    return a >= b ? 1 : 0;
  if (op == "LessOrEqual")
    return a <= b ? 1 : 0;
  if (op == "And")
    return (a != 0 && b != 0) ? 1 : 0;
  if (op == "Or")
    return (a != 0 || b != 0) ? 1 : 0;
  throw Unsupported(fmt::format("{} of {} and {}", op, a, b));
}

ConstantValue binary(const NodeView& node) {
  if (node.input_count() != 2) {
    throw Unsupported("not two operands");
  }
  ConstantValue result = empty_result(node);
  const ConstantValue& a = node.known(0);
  const ConstantValue& b = node.known(1);
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t left = broadcast_index(i, result.dims, a.dims);
    const std::size_t right = broadcast_index(i, result.dims, b.dims);
    if (a.is_real() || b.is_real()) {
      const double number = apply_real(node.op(), a.number(left), b.number(right));
      if (result.is_real()) {
        result.reals.push_back(result.dtype == DataType::kF32
                                   ? static_cast<double>(static_cast<float>(number))
                                   : number);
      } else {
        result.integers.push_back(number != 0.0 ? 1 : 0);
      }
    } else {
      result.integers.push_back(apply_integer(node.op(), a.integers[left], b.integers[right]));
    }
  }
  return result;
}

ConstantValue unary(const NodeView& node) {
  ConstantValue result = copy_elements(node);
  const std::string& op = node.op();
  for (double& x : result.reals) {
    x = op == "Floor"   ? std::floor(x)
        : op == "Ceil"  ? std::ceil(x)
        : op == "Round" ? std::nearbyint(x)
        : op == "Neg"   ? -x
        : op == "Abs"   ? std::abs(x)
        : op == "Sqrt"  ? std::sqrt(x)
                        : 1.0 / x;
    if (result.dtype == DataType::kF32) {
      x = static_cast<double>(static_cast<float>(x));
    }
  }
  for (std::int64_t& x : result.integers) {
    if (op == "Not") {
      x = x == 0 ? 1 : 0;
    } else if (op == "Neg" || (op == "Abs" && x < 0)) {
      x = apply_integer("Sub", 0, x);
    }
  }
  return result;
}

ConstantValue where(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& condition = node.known(0);
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    const bool first = condition.number(broadcast_index(i, result.dims, condition.dims)) != 0.0;
    const ConstantValue& from = node.known(first ? 1 : 2);
    append(result, from, broadcast_index(i, result.dims, from.dims));
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

/// Keeps a triangle of the last two axes: the causal masks of exported transformers.
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
    throw Unsupported("Range of lists");
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

/// Returns the extents of an operand, with one for each axis that it is reduced over.
Integers reduced_dims(const NodeView& node) {
  Integers dims = node.dims(0);
  const Integers axes =
      node.has_input(1) ? node.known_integers(1) : node.integers("axes").value_or(Integers{});
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0) {
    std::fill(dims.begin(), dims.end(), 1);
  }
  for (const std::int64_t axis : axes) {
    dims[static_cast<std::size_t>(NodeView::positive_axis(axis, dims.size()))] = 1;
  }
  return dims;
}

ConstantValue reduce(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  const Integers kept = reduced_dims(node);
  const std::size_t size = count(result);
  if (from.size() == 0 || result.is_real() != from.is_real()) {
    throw Unsupported("a reduction of nothing");
  }
  const std::string_view op = node.op() == "ReduceProd"  ? "Mul"
                              : node.op() == "ReduceSum" ? "Add"
                              : node.op() == "ReduceMax" ? "Max"
                                                         : "Min";
  if (result.is_real()) {
    result.reals.resize(size);
  } else {
    result.integers.resize(size);
  }
  std::vector<bool> begun(size);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = broadcast_index(i, from.dims, kept);
    if (at >= size) {
      throw Unsupported("a reduction that does not fit its shape");
    }
    if (result.is_real()) {
      result.reals[at] =
          begun[at] ? apply_real(op, result.reals[at], from.reals[i]) : from.reals[i];
    } else {
      result.integers[at] =
          begun[at] ? apply_integer(op, result.integers[at], from.integers[i]) : from.integers[i];
    }
    begun[at] = true;
  }
  return result;
}

struct EvaluatorRow {
  std::string_view op;
  ConstantValue (*run)(const NodeView&);
};

constexpr std::array kEvaluators = std::to_array<EvaluatorRow>({
    {"Shape", shape_of},
    {"Size", size_of},
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
          element_count(node.output_type(0)) > ConstantValue::kMostElements) {
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

}  // namespace plumb
