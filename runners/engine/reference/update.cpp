// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/model/key/training_layers.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// One tensor with what its update reads and replaces.
struct Tensor {
  Numbers weights;
  const Numbers& gradient;
  std::vector<Numbers> states;
};

void descend(const model::LayerSpec& spec, Tensor& tensor) {
  const double rate = spec.real("rate");
  const double momentum = spec.real("momentum");
  const double decay = spec.real("decay");
  for (std::size_t i = 0; i < tensor.weights.values.size(); ++i) {
    double& weight = tensor.weights.values[i];
    double slope = tensor.gradient.values[i] + decay * weight;
    if (!tensor.states.empty()) {
      double& velocity = tensor.states[0].values[i];
      velocity = momentum * velocity + slope;
      slope = velocity;
    }
    weight -= rate * slope;
  }
}

/// Kingma & Ba, "Adam", 2015, algorithm 1. With `decay_of=weights`: Loshchilov & Hutter, "Decoupled
/// Weight Decay Regularization", 2019, algorithm 2.
void adapt(const model::LayerSpec& spec, Tensor& tensor) {
  const double beta1 = spec.real("beta1");
  const double beta2 = spec.real("beta2");
  const double rate = spec.real("rate");
  const double decay = spec.real("decay");
  const double epsilon = spec.real("epsilon");
  const bool decays_weights = spec.text("decay_of") == "weights";
  const double steps = ++tensor.states[2].values.at(0);
  const double first_correction = 1.0 - std::pow(beta1, steps);
  const double second_correction = 1.0 - std::pow(beta2, steps);
  for (std::size_t i = 0; i < tensor.weights.values.size(); ++i) {
    double& weight = tensor.weights.values[i];
    const double slope = tensor.gradient.values[i] + (decays_weights ? 0.0 : decay * weight);
    double& first = tensor.states[0].values[i];
    double& second = tensor.states[1].values[i];
    first = beta1 * first + (1.0 - beta1) * slope;
    second = beta2 * second + (1.0 - beta2) * slope * slope;
    weight *= decays_weights ? 1.0 - rate * decay : 1.0;
    weight -= rate * (first / first_correction) / (std::sqrt(second / second_correction) + epsilon);
  }
}

double norm(const std::vector<double>& numbers) {
  double squares = 0.0;
  for (const double number : numbers) {
    squares += number * number;
  }
  return std::sqrt(squares);
}

/// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2020,
/// algorithm 2, with φ(z) = z. Where the norm of weights or direction is 0, the ratio is 1.
void adapt_layerwise(const model::LayerSpec& spec, Tensor& tensor) {
  const double beta1 = spec.real("beta1");
  const double beta2 = spec.real("beta2");
  const double steps = ++tensor.states[2].values.at(0);
  std::vector<double> direction(tensor.weights.values.size());
  for (std::size_t i = 0; i < direction.size(); ++i) {
    const double slope = tensor.gradient.values[i];
    double& first = tensor.states[0].values[i];
    double& second = tensor.states[1].values[i];
    first = beta1 * first + (1.0 - beta1) * slope;
    second = beta2 * second + (1.0 - beta2) * slope * slope;
    direction[i] = first / (1.0 - std::pow(beta1, steps)) /
                       (std::sqrt(second / (1.0 - std::pow(beta2, steps))) + spec.real("epsilon")) +
                   spec.real("decay") * tensor.weights.values[i];
  }
  const double of_weights = norm(tensor.weights.values);
  const double of_direction = norm(direction);
  const double ratio = of_weights > 0.0 && of_direction > 0.0 ? of_weights / of_direction : 1.0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    tensor.weights.values[i] -= spec.real("rate") * ratio * direction[i];
  }
}

}  // namespace

std::vector<Numbers> updated_weights(const model::LayerSpec& spec, Operands operands) {
  const model::UpdateShape shape(spec);
  std::vector<Numbers> results;
  if (shape.condition() && operands[*shape.condition()].values.at(0) == 0.0) {
    for (std::size_t result = 0; result < spec.outputs.size(); ++result) {
      results.push_back(operands[shape.replaced(result)]);
    }
    return results;
  }
  for (std::size_t t = 0; t < shape.tensors(); ++t) {
    Tensor tensor{operands[shape.weights(t)], operands[shape.gradient(t)], {}};
    for (std::size_t which = 0; which < shape.states(); ++which) {
      tensor.states.push_back(operands[shape.state(t, which)]);
    }
    (spec.op == "sgd" ? descend : spec.op == "adam" ? adapt : adapt_layerwise)(spec, tensor);
    results.push_back(std::move(tensor.weights));
    for (Numbers& state : tensor.states) {
      results.push_back(std::move(state));
    }
  }
  return results;
}

// The rule of PyTorch's GradScaler. Like it, the scale does not grow past the numbers of f32.
std::vector<Numbers> adapted_loss_scale(const model::LayerSpec& spec, Operands operands) {
  const bool finite =
      std::all_of(operands.begin() + 2, operands.end(), [](const Numbers& gradient) {
        return std::all_of(gradient.values.begin(), gradient.values.end(), [](double each) {
          return std::isfinite(each);
        });
      });
  Numbers scale = operands[0];
  Numbers steps = operands[1];
  double& factor = scale.values.at(0);
  double& since = steps.values.at(0);
  since = finite ? since + 1.0 : 0.0;
  if (!finite) {
    factor *= spec.real("backoff");
  } else if (since == static_cast<double>(spec.integer("interval"))) {
    const double grown = factor * spec.real("growth");
    factor = grown <= std::numeric_limits<float>::max() ? grown : factor;
    since = 0.0;
  }
  Numbers applied = operands[0];
  applied.values.at(0) = finite ? 1.0 : 0.0;
  return {std::move(scale), std::move(steps), std::move(applied)};
}

}  // namespace plumb::engine::reference
