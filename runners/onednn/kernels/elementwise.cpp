// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Function that combines `count` pairs into `result`, which may be `a` itself. Comparisons give 0
/// or 1.
template <typename Number>
using BinaryFunction =
    void (*)(const Number* a, const Number* b, Number* result, std::size_t count);

template <typename Number>
struct Row {
  std::string_view fn;
  BinaryFunction<Number> function;
};

template <typename Number, typename Function>
void map(const Number* a, const Number* b, Number* result, std::size_t count, Function function) {
  for (std::size_t index = 0; index < count; ++index) {
    result[index] = function(a[index], b[index]);
  }
}

std::int64_t wrapped(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

template <typename N>
N add(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename N>
N subtract(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename N>
N multiply(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename N>
N divide(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return b == 0 ? 0 : (b == -1 ? subtract<N>(0, a) : a / b);
  } else {
    return a / b;
  }
}

/// Returns the remainder with the sign of the dividend, as in C.
template <typename N>
N remainder(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

/// Returns the remainder with the sign of the divisor (ONNX Mod, as in Python).
template <typename N>
N modulo(N a, N b) {
  const N rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename N>
N power(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    const double result = std::pow(static_cast<double>(a), static_cast<double>(b));
    return std::abs(result) < 9.2e18 ? static_cast<N>(result) : 0;
  } else {
    return std::pow(a, b);
  }
}

#define PLUMB_BINARY(expression)                                                   \
  [](const N* first, const N* second, N* result, std::size_t count) {              \
    map(first, second, result, count, [](N a, N b) -> N { return (expression); }); \
  }

template <typename N>
constexpr std::array<Row<N>, 17> kRows{{
    {"add", PLUMB_BINARY(add(a, b))},
    {"sub", PLUMB_BINARY(subtract(a, b))},
    {"mul", PLUMB_BINARY(multiply(a, b))},
    {"div", PLUMB_BINARY(divide(a, b))},
    {"max", PLUMB_BINARY(std::max(a, b))},
    {"min", PLUMB_BINARY(std::min(a, b))},
    {"pow", PLUMB_BINARY(power(a, b))},
    {"mod", PLUMB_BINARY(modulo(a, b))},
    {"fmod", PLUMB_BINARY(remainder(a, b))},
    {"equal", PLUMB_BINARY(a == b ? 1 : 0)},
    {"greater", PLUMB_BINARY(a > b ? 1 : 0)},
    {"less", PLUMB_BINARY(a < b ? 1 : 0)},
    {"greater_equal", PLUMB_BINARY(a >= b ? 1 : 0)},
    {"less_equal", PLUMB_BINARY(a <= b ? 1 : 0)},
    {"and", PLUMB_BINARY(a != 0 && b != 0 ? 1 : 0)},
    {"or", PLUMB_BINARY(a != 0 || b != 0 ? 1 : 0)},
    {"xor", PLUMB_BINARY((a != 0) != (b != 0) ? 1 : 0)},
}};

#undef PLUMB_BINARY

/// Returns a binary function of docs/reference/layer-keys.md; null if there is none. Integer
/// arithmetic wraps around, and division by zero gives 0. Number is float, double or std::int64_t.
template <typename Number>
BinaryFunction<Number> binary_function(std::string_view fn) {
  for (const Row<Number>& row : kRows<Number>) {
    if (row.fn == fn) {
      return row.function;
    }
  }
  return nullptr;
}

constexpr std::size_t kBlock =
    1024;  // elements converted at a time, which stay in the first-level cache

template <typename Number>
using Block = std::array<Number, kBlock>;

template <typename Number>
void add_unary(const model::LayerSpec& spec, VariantBuilder::List& list) {
  const UnaryFunction<Number> function = unary_function<Number>(spec.text("fn"));
  require(function != nullptr, spec, "no built-in kernel has the function for this type");
  const model::DataType in = spec.inputs[0]->dtype;
  const model::DataType out = spec.outputs[0].dtype;
  const auto in_bytes = static_cast<std::size_t>(model::element_bytes(in));
  const auto out_bytes = static_cast<std::size_t>(model::element_bytes(out));
  const auto count = static_cast<std::size_t>(element_count(spec.outputs[0]));
  add_own(list,
          spec,
          "eltwise",
          [=, parameters = spec.reals("parameters")](const KernelOperands& operands) {
            Block<Number> block;
            for (std::size_t start = 0; start < count; start += kBlock) {
              const std::size_t size = std::min(kBlock, count - start);
              load(in, operands.input(0) + start * in_bytes, size, block.data());
              function(block.data(), size, parameters.data());
              store(out, block.data(), size, operands.output(0) + start * out_bytes);
            }
          });
}

/// Reads a part of a row. An operand with one element along the row repeats it.
template <typename Number>
void load_row(const model::LayerSpec& spec,
              std::size_t operand,
              const std::byte* data,
              const KernelOperands::Rows::Row& row,
              std::size_t start,
              std::size_t size,
              Number* block) {
  const model::DataType type = spec.inputs[operand]->dtype;
  const std::byte* const first =
      data + row.at(operand, start) * static_cast<std::size_t>(model::element_bytes(type));
  if (row.step[operand] != 0) {
    load(type, first, size, block);
    return;
  }
  load(type, first, 1, block);
  std::fill_n(block, size, block[0]);
}

template <typename Number>
void add_binary(const model::LayerSpec& spec, VariantBuilder::List& list) {
  const BinaryFunction<Number> function = binary_function<Number>(spec.text("fn"));
  require(function != nullptr, spec, "no built-in kernel has the function");
  const KernelOperands::Rows rows(spec, 2);
  const model::DataType out = spec.outputs[0].dtype;
  const auto out_bytes = static_cast<std::size_t>(model::element_bytes(out));
  add_own(
      list, spec, "binary", [spec, rows, function, out, out_bytes](const KernelOperands& operands) {
        Block<Number> a;
        Block<Number> b;
        std::byte* destination = operands.output(0);
        rows.for_each([&](const KernelOperands::Rows::Row& row) {
          for (std::size_t start = 0; start < rows.row_length(); start += kBlock) {
            const std::size_t size = std::min(kBlock, rows.row_length() - start);
            load_row(spec, 0, operands.input(0), row, start, size, a.data());
            load_row(spec, 1, operands.input(1), row, start, size, b.data());
            function(a.data(), b.data(), a.data(), size);
            store(out, a.data(), size, destination);
            destination += size * out_bytes;
          }
        });
      });
}

template <typename Number>
void add_sum(const model::LayerSpec& spec, VariantBuilder::List& list) {
  const model::DataType type = spec.outputs[0].dtype;
  const auto bytes = static_cast<std::size_t>(model::element_bytes(type));
  const auto count = static_cast<std::size_t>(element_count(spec.outputs[0]));
  const auto combine = binary_function<Number>(spec.op == "sum" ? "add" : spec.op);
  add_own(list, spec, spec.op, [=, inputs = spec.inputs.size()](const KernelOperands& operands) {
    Block<Number> total;
    Block<Number> term;
    for (std::size_t start = 0; start < count; start += kBlock) {
      const std::size_t size = std::min(kBlock, count - start);
      load(type, operands.input(0) + start * bytes, size, total.data());
      for (std::size_t index = 1; index < inputs; ++index) {
        load(type, operands.input(index) + start * bytes, size, term.data());
        combine(total.data(), term.data(), total.data(), size);
      }
      store(type, total.data(), size, operands.output(0) + start * bytes);
    }
  });
}

template <typename Number>
void add_cast(const model::LayerSpec& spec, VariantBuilder::List& list) {
  const model::DataType in = spec.inputs[0]->dtype;
  const model::DataType out = spec.outputs[0].dtype;
  const auto in_bytes = static_cast<std::size_t>(model::element_bytes(in));
  const auto out_bytes = static_cast<std::size_t>(model::element_bytes(out));
  const auto count = static_cast<std::size_t>(element_count(spec.outputs[0]));
  add_own(list, spec, "cast", [=](const KernelOperands& operands) {
    Block<Number> block;
    for (std::size_t start = 0; start < count; start += kBlock) {
      const std::size_t size = std::min(kBlock, count - start);
      load(in, operands.input(0) + start * in_bytes, size, block.data());
      store(out, block.data(), size, operands.output(0) + start * out_bytes);
    }
  });
}

void require_same_shape(const model::LayerSpec& spec) {
  for (const auto& operand : spec.inputs) {
    require(operand && operand->dims == spec.outputs[0].dims,
            spec,
            "operands must have the output's shape");
    check_number(operand->dtype);
  }
  check_number(spec.outputs[0].dtype);
}

}  // namespace

void apply_eltwise(const model::LayerSpec& spec,
                   const Device& /*device*/,
                   VariantBuilder::List& list) {
  require_operands(spec, 1);
  require_same_shape(spec);
  switch (calculation_type(spec.inputs[0]->dtype)) {
    case model::DataType::kF64:
      return add_unary<double>(spec, list);
    case model::DataType::kF32:
      return add_unary<float>(spec, list);
    default:
      return add_unary<std::int64_t>(spec, list);
  }
}

void apply_binary(const model::LayerSpec& spec,
                  const Device& /*device*/,
                  VariantBuilder::List& list) {
  require_operands(spec, 2);
  check_number(spec.inputs[0]->dtype);
  check_number(spec.inputs[1]->dtype);
  check_number(spec.outputs[0].dtype);
  const model::DataType a = calculation_type(spec.inputs[0]->dtype);
  const model::DataType b = calculation_type(spec.inputs[1]->dtype);
  if (a == model::DataType::kF64 || b == model::DataType::kF64) {
    add_binary<double>(spec, list);
  } else if (a == model::DataType::kF32 || b == model::DataType::kF32) {
    add_binary<float>(spec, list);
  } else {
    add_binary<std::int64_t>(spec, list);
  }
}

void apply_sum(const model::LayerSpec& spec, const Device& /*device*/, VariantBuilder::List& list) {
  require_operands(spec, spec.inputs.size());
  require_same_shape(spec);
  for (const auto& operand : spec.inputs) {
    require(operand->dtype == spec.outputs[0].dtype, spec, "operands must have the output's type");
  }
  switch (calculation_type(spec.outputs[0].dtype)) {
    case model::DataType::kF64:
      return add_sum<double>(spec, list);
    case model::DataType::kF32:
      return add_sum<float>(spec, list);
    default:
      return add_sum<std::int64_t>(spec, list);
  }
}

void apply_cast(const model::LayerSpec& spec,
                const Device& /*device*/,
                VariantBuilder::List& list) {
  require_operands(spec, 1);
  require_same_shape(spec);
  switch (calculation_type(spec.inputs[0]->dtype)) {
    case model::DataType::kF64:
      return add_cast<double>(spec, list);
    case model::DataType::kF32:
      return add_cast<float>(spec, list);
    default:
      return add_cast<std::int64_t>(spec, list);
  }
}

}  // namespace plumb::onednn
