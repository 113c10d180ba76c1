// SPDX-License-Identifier: Apache-2.0
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

struct Row {
  std::string_view fn;
  Unary derivative;
};

// At a corner, the derivative of the flatter side is used.
constexpr std::array kDerivatives = std::to_array<Row>({
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
  for (const Row& row : kDerivatives) {
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

}  // namespace plumb::engine::reference
