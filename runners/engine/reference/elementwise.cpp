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
  const Broadcast slope(spec, operands[1].dims, y.dims);
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

}  // namespace plumb::engine::reference
