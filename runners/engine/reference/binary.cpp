// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

struct Row {
  std::string_view fn;
  BinaryFunction on_reals;
  BinaryFunction on_integers;
};

double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
double smaller(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}
double truncated_quotient(double a, double b) {
  return std::trunc(a / b);
}
/// Returns the remainder with the sign of the divisor, as Python's %.
double floored_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0.0 && (remainder < 0.0) != (b < 0.0) ? remainder + b : remainder;
}
double remainder(double a, double b) {
  return std::fmod(a, b);
}
double add(double a, double b) {
  return a + b;
}
double sub(double a, double b) {
  return a - b;
}
double mul(double a, double b) {
  return a * b;
}
double div(double a, double b) {
  return a / b;
}
double power(double a, double b) {
  return std::pow(a, b);
}
double equal(double a, double b) {
  return a == b ? 1.0 : 0.0;
}
double greater(double a, double b) {
  return a > b ? 1.0 : 0.0;
}
double less(double a, double b) {
  return a < b ? 1.0 : 0.0;
}
double greater_equal(double a, double b) {
  return a >= b ? 1.0 : 0.0;
}
double less_equal(double a, double b) {
  return a <= b ? 1.0 : 0.0;
}
double both(double a, double b) {
  return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
}
double either(double a, double b) {
  return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
}
double one_only(double a, double b) {
  return (a != 0.0) != (b != 0.0) ? 1.0 : 0.0;
}

constexpr std::array kFunctions = std::to_array<Row>({
    {"add", add, add},
    {"sub", sub, sub},
    {"mul", mul, mul},
    {"div", div, truncated_quotient},
    {"max", larger, larger},
    {"min", smaller, smaller},
    {"pow", power, power},
    {"mod", floored_remainder, floored_remainder},
    {"fmod", remainder, remainder},
    {"equal", equal, equal},
    {"greater", greater, greater},
    {"less", less, less},
    {"greater_equal", greater_equal, greater_equal},
    {"less_equal", less_equal, less_equal},
    {"and", both, both},
    {"or", either, either},
    {"xor", one_only, one_only},
});

}  // namespace

BinaryFunction find_binary(std::string_view fn, bool integers) {
  for (const Row& row : kFunctions) {
    if (row.fn == fn) {
      return integers ? row.on_integers : row.on_reals;
    }
  }
  return nullptr;
}

Numbers binary(const model::LayerSpec& spec, Operands operands) {
  const bool integers =
      !model::is_floating(spec.inputs[0]->dtype) && !model::is_floating(spec.inputs[1]->dtype);
  const BinaryFunction function = find_binary(spec.text("fn"), integers);
  require(function != nullptr, spec, "fn is unknown");
  Numbers y = zeros_like_output(spec);
  const Broadcast a(spec, operands[0].dims, y.dims);
  const Broadcast b(spec, operands[1].dims, y.dims);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = function(operands[0].values[a(i)], operands[1].values[b(i)]);
  }
  return y;
}

Numbers extreme(const model::LayerSpec& spec, Operands operands) {
  const BinaryFunction function = find_binary(spec.op, !model::is_floating(spec.inputs[0]->dtype));
  Numbers y = operands[0];
  require(y.dims == spec.outputs[0].dims, spec, "the output's shape is not the operands'");
  for (const Numbers& operand : operands.subspan(1)) {
    require(operand.dims == y.dims, spec, "operands have different shapes");
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = function(y.values[i], operand.values[i]);
    }
  }
  return y;
}

Numbers sum(const model::LayerSpec& spec, Operands operands) {
  Numbers y = zeros_like_output(spec);
  for (const Numbers& operand : operands) {
    const Broadcast at(spec, operand.dims, y.dims);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] += operand.values[at(i)];
    }
  }
  return y;
}

}  // namespace plumb::engine::reference
