// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/small_operands.hpp"

#include <cmath>

#include "harness/model/key/operator_families.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::contract {
namespace {

double root_mean_square(const std::vector<double>& numbers) {
  double sum = 0.0;
  for (const double number : numbers) {
    sum += number * number;
  }
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

}  // namespace

std::vector<model::Tensor> small_operands(const model::LayerSpec& spec, std::uint64_t seed) {
  constexpr int kMagnitudes = 7;
  std::vector<model::Tensor> operands = engine::random_operands(spec, seed);
  double shrunk = 1.0;
  for (model::Tensor* const factor : {&operands.at(0), &operands.at(1)}) {
    std::vector<double> numbers = engine::read_numbers(*factor);
    shrunk /= root_mean_square(numbers);
    for (double& number : numbers) {
      number = std::copysign(2.0 * (1.0 + std::fmod(std::fabs(number), kMagnitudes)), number);
    }
    shrunk *= root_mean_square(numbers);
    engine::write_numbers(*factor, 0, numbers);
  }
  if (const std::size_t at = model::quantized_product(spec).y_scale; spec.has_input(at)) {
    std::vector<double> steps = engine::read_numbers(operands[at]);
    for (double& step : steps) {
      step *= shrunk;
    }
    engine::write_numbers(operands[at], 0, steps);
  }
  return operands;
}

}  // namespace plumb::contract
