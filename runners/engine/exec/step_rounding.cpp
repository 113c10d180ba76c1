// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/step_rounding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

constexpr std::uint64_t kSeed = 19;

/// Returns by what share of itself a number may change where a graph rounds: half of the last digit
/// of few digits, and what rounding leaves of a sum of a thousand products in f32.
double change_of(const model::Graph& graph) {
  double most = 0x1p-19;
  for (const model::Layer& layer : graph.layers) {
    most = layer.spec.math == model::MathClass::kTf32 ? std::max(most, 0x1p-12) : most;
    for (const model::TensorType& output : layer.spec.outputs) {
      most = output.dtype == model::DataType::kBf16  ? std::max(most, 0x1p-9)
             : output.dtype == model::DataType::kF16 ? std::max(most, 0x1p-12)
                                                     : most;
    }
  }
  return most;
}

/// Changes each number of a tensor by up to a share of it.
void change(model::Tensor& tensor, const RandomStream& random, double share) {
  const std::size_t count = tensor.data.size() / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    const double drawn = static_cast<double>(random.bits(i) >> 11U) * 0x1p-52 - 1.0;
    float number = 0.0F;
    std::memcpy(&number, tensor.data.data() + i * sizeof(float), sizeof(float));
    number *= static_cast<float>(1.0 + drawn * share);
    std::memcpy(tensor.data.data() + i * sizeof(float), &number, sizeof(float));
  }
}

}  // namespace

std::vector<double> measure_rounding(const RequestedModel& model,
                                     ReadyModel& ready,
                                     const std::function<void()>& after_part) {
  if (model.step() == nullptr) {
    return {};
  }
  std::vector<model::Tensor> operands;
  if (!model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes).ok()) {
    return {};
  }
  const double share = change_of(ready.plan.fused.graph);
  std::vector<model::Tensor> changed = operands;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed[i].type.dtype == model::DataType::kF32) {
      change(changed[i], RandomStream(kSeed, i), share);
    }
  }
  const auto report = [&] {
    if (after_part) {
      after_part();
    }
  };
  report();
  worker::Program& program = *ready.prepared.program;
  program.bind(0, changed, false);
  report();
  program.enqueue(0);
  program.synchronize();
  report();
  std::vector<double> moved =
      distances_by_kind(program.outputs(0), ready.outputs, model.step()->kinds);
  report();
  program.bind(0, operands, false);
  return moved;
}

}  // namespace plumb::engine
