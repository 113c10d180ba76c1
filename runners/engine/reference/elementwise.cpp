// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

using Parameters = std::span<const double>;

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double hard_sigmoid(double x, double alpha, double beta) {
  return std::max(0.0, std::min(1.0, alpha * x + beta));
}
double gelu_erf(double x) {
  return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
}
double gelu_tanh(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * x * (1.0 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}
double sign(double x) {
  return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x);
}
// The comparisons are written so that NaN stays NaN.
double relu(double x) {
  return x < 0.0 ? 0.0 : x;
}
double clip(double x, double low, double high) {
  const double raised = x < low ? low : x;
  return raised > high ? high : raised;
}

struct Row {
  std::string_view fn;
  Unary unary;
};

constexpr std::array kFunctions = std::to_array<Row>({
    {"relu", {[](double x, Parameters) { return relu(x); }, 0}},
    {"leaky_relu", {[](double x, Parameters p) { return x < 0.0 ? p[0] * x : x; }, 1}},
    {"elu", {[](double x, Parameters p) { return x < 0.0 ? p[0] * std::expm1(x) : x; }, 1}},
    {"selu",
     {[](double x, Parameters p) { return p[1] * (x > 0.0 ? x : p[0] * std::expm1(x)); }, 2}},
    {"celu",
     {[](double x, Parameters p) {
        return std::max(0.0, x) + std::min(0.0, p[0] * std::expm1(x / p[0]));
      },
      1}},
    {"sigmoid", {[](double x, Parameters) { return sigmoid(x); }, 0}},
    {"tanh", {[](double x, Parameters) { return std::tanh(x); }, 0}},
    {"softplus", {[](double x, Parameters) { return softplus(x); }, 0}},
    {"softsign", {[](double x, Parameters) { return x / (1.0 + std::fabs(x)); }, 0}},
    {"hard_sigmoid", {[](double x, Parameters p) { return hard_sigmoid(x, p[0], p[1]); }, 2}},
    {"hard_swish", {[](double x, Parameters) { return x * hard_sigmoid(x, 1.0 / 6.0, 0.5); }, 0}},
    {"silu", {[](double x, Parameters) { return x * sigmoid(x); }, 0}},
    {"gelu_erf", {[](double x, Parameters) { return gelu_erf(x); }, 0}},
    {"gelu_tanh", {[](double x, Parameters) { return gelu_tanh(x); }, 0}},
    {"mish", {[](double x, Parameters) { return x * std::tanh(softplus(x)); }, 0}},
    {"thresholded_relu", {[](double x, Parameters p) { return x > p[0] ? x : 0.0; }, 1}},
    {"clip", {[](double x, Parameters p) { return clip(x, p[0], p[1]); }, 2}},
    {"exp", {[](double x, Parameters) { return std::exp(x); }, 0}},
    {"log", {[](double x, Parameters) { return std::log(x); }, 0}},
    {"sqrt", {[](double x, Parameters) { return std::sqrt(x); }, 0}},
    {"reciprocal", {[](double x, Parameters) { return 1.0 / x; }, 0}},
    {"abs", {[](double x, Parameters) { return std::fabs(x); }, 0}},
    {"neg", {[](double x, Parameters) { return -x; }, 0}},
    {"sign", {[](double x, Parameters) { return sign(x); }, 0}},
    {"floor", {[](double x, Parameters) { return std::floor(x); }, 0}},
    {"ceil", {[](double x, Parameters) { return std::ceil(x); }, 0}},
    {"round", {[](double x, Parameters) { return std::nearbyint(x); }, 0}},  // halves to even
    {"erf", {[](double x, Parameters) { return std::erf(x); }, 0}},
    {"sin", {[](double x, Parameters) { return std::sin(x); }, 0}},
    {"cos", {[](double x, Parameters) { return std::cos(x); }, 0}},
    {"not", {[](double x, Parameters) { return x == 0.0 ? 1.0 : 0.0; }, 0}},
    {"is_nan", {[](double x, Parameters) { return std::isnan(x) ? 1.0 : 0.0; }, 0}},
    {"linear", {[](double x, Parameters p) { return p[0] * x + p[1]; }, 2}},
});

Numbers input_in_output_shape(const model::LayerSpec& spec, Operands operands) {
  Numbers y{operands[0].dims, operands[0].values};
  require(spec.outputs[0].dims == y.dims, spec, "the output's shape is not the input's");
  return y;
}

}  // namespace

std::optional<Unary> find_unary(std::string_view fn) {
  for (const Row& row : kFunctions) {
    if (row.fn == fn) {
      return row.unary;
    }
  }
  return std::nullopt;
}

Numbers elementwise(const model::LayerSpec& spec, Operands operands) {
  const std::optional<Unary> unary = find_unary(spec.text("fn"));
  const std::vector<double>& parameters = spec.reals("parameters");
  require(
      unary && unary->parameters == parameters.size(), spec, "fn or its parameters are unknown");
  Numbers y = input_in_output_shape(spec, operands);
  for (double& value : y.values) {
    value = unary->function(value, parameters);
  }
  return y;
}

Numbers parametric_relu(const model::LayerSpec& spec, Operands operands) {
  Numbers y = input_in_output_shape(spec, operands);
  const Numbers::Broadcasting slope(spec, operands[1].dims, y.dims);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    if (y.values[i] < 0.0) {
      y.values[i] *= operands[1].values[slope(i)];
    }
  }
  return y;
}

// The conversion itself is done where the output is written in its own type.
Numbers cast(const model::LayerSpec& spec, Operands operands) {
  return input_in_output_shape(spec, operands);
}

namespace {

double gelu_erf_slope(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)) + x * density;
}
double gelu_tanh_slope(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * scale * (1.0 + 3.0 * 0.044715 * x * x);
}
double mish_slope(double x) {
  const double t = std::tanh(std::log1p(std::exp(-std::fabs(x))) + (x > 0.0 ? x : 0.0));
  return t + x * (1.0 - t * t) * sigmoid(x);
}
double hard_swish_slope(double x) {
  return x <= -3.0 ? 0.0 : (x >= 3.0 ? 1.0 : x / 3.0 + 0.5);
}
double inside(double x, double low, double high) {
  return x > low && x < high ? 1.0 : 0.0;
}

struct DerivativeRow {
  std::string_view fn;
  Unary derivative;
};

// At a corner, the derivative of the flatter side is used.
constexpr std::array kDerivatives = std::to_array<DerivativeRow>({
    {"relu", {[](double x, Parameters) { return x > 0.0 ? 1.0 : 0.0; }, 0}},
    {"leaky_relu", {[](double x, Parameters p) { return x > 0.0 ? 1.0 : p[0]; }, 1}},
    {"elu", {[](double x, Parameters p) { return x > 0.0 ? 1.0 : p[0] * std::exp(x); }, 1}},
    {"selu",
     {[](double x, Parameters p) { return p[1] * (x > 0.0 ? 1.0 : p[0] * std::exp(x)); }, 2}},
    {"celu", {[](double x, Parameters p) { return x > 0.0 ? 1.0 : std::exp(x / p[0]); }, 1}},
    {"sigmoid", {[](double x, Parameters) { return sigmoid(x) * (1.0 - sigmoid(x)); }, 0}},
    {"tanh", {[](double x, Parameters) { return 1.0 - std::tanh(x) * std::tanh(x); }, 0}},
    {"softplus", {[](double x, Parameters) { return sigmoid(x); }, 0}},
    {"softsign",
     {[](double x, Parameters) { return 1.0 / ((1.0 + std::fabs(x)) * (1.0 + std::fabs(x))); }, 0}},
    {"hard_sigmoid",
     {[](double x, Parameters p) { return p[0] * inside(p[0] * x + p[1], 0.0, 1.0); }, 2}},
    {"hard_swish", {[](double x, Parameters) { return hard_swish_slope(x); }, 0}},
    {"silu", {[](double x, Parameters) { return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))); }, 0}},
    {"gelu_erf", {[](double x, Parameters) { return gelu_erf_slope(x); }, 0}},
    {"gelu_tanh", {[](double x, Parameters) { return gelu_tanh_slope(x); }, 0}},
    {"mish", {[](double x, Parameters) { return mish_slope(x); }, 0}},
    {"thresholded_relu", {[](double x, Parameters p) { return x > p[0] ? 1.0 : 0.0; }, 1}},
    {"clip", {[](double x, Parameters p) { return inside(x, p[0], p[1]); }, 2}},
    {"exp", {[](double x, Parameters) { return std::exp(x); }, 0}},
    {"log", {[](double x, Parameters) { return 1.0 / x; }, 0}},
    {"sqrt", {[](double x, Parameters) { return 0.5 / std::sqrt(x); }, 0}},
    {"reciprocal", {[](double x, Parameters) { return -1.0 / (x * x); }, 0}},
    {"abs", {[](double x, Parameters) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }, 0}},
    {"neg", {[](double, Parameters) { return -1.0; }, 0}},
    {"erf",
     {[](double x, Parameters) { return 2.0 / std::sqrt(std::numbers::pi) * std::exp(-x * x); },
      0}},
    {"sin", {[](double x, Parameters) { return std::cos(x); }, 0}},
    {"cos", {[](double x, Parameters) { return -std::sin(x); }, 0}},
    {"linear", {[](double, Parameters p) { return p[0]; }, 2}},
});

}  // namespace

std::optional<Unary> find_derivative(std::string_view fn) {
  for (const DerivativeRow& row : kDerivatives) {
    if (row.fn == fn) {
      return row.derivative;
    }
  }
  return std::nullopt;
}

Numbers elementwise_gradient(const model::LayerSpec& spec, Operands operands) {
  const std::optional<Unary> derivative = find_derivative(spec.text("fn"));
  const std::vector<double>& parameters = spec.reals("parameters");
  require(derivative && derivative->parameters == parameters.size(),
          spec,
          "fn has no gradient, or its parameters do not fit");
  require(operands[0].dims == operands[1].dims && spec.outputs[0].dims == operands[0].dims,
          spec,
          "the gradients and x differ in shape");
  Numbers result = operands[0];
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] *= derivative->function(operands[1].values[i], parameters);
  }
  return result;
}

namespace {

struct BinaryRow {
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

constexpr std::array kBinaryFunctions = std::to_array<BinaryRow>({
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
  for (const BinaryRow& row : kBinaryFunctions) {
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
  const Numbers::Broadcasting a(spec, operands[0].dims, y.dims);
  const Numbers::Broadcasting b(spec, operands[1].dims, y.dims);
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
    const Numbers::Broadcasting at(spec, operand.dims, y.dims);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] += operand.values[at(i)];
    }
  }
  return y;
}

}  // namespace plumb::engine::reference
