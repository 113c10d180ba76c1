// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/model/key/operator_families.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Recurrent layer in the form that cuDNN's calls take. It includes the launches of built-in
/// kernels before and after these calls. Its buffers are the layer's operands, its results, the
/// scratch tensors, then the space of weights. It is a value and needs no library.
struct RecurrentProblem {
  /// Start of a piece of the weights in cuDNN's weight space, in elements.
  struct WeightPlace {
    std::int64_t matrix = 0;
    std::int64_t bias = 0;
  };

  abi::LegacyCalls::Recurrent::Cell cell = abi::LegacyCalls::Recurrent::Cell::kTanh;
  abi::LegacyCalls::Recurrent::Bias bias = abi::LegacyCalls::Recurrent::Bias::kNone;
  abi::CudnnCalls::Type type = abi::CudnnCalls::Type::kFloat;
  abi::LegacyCalls::Math math = abi::LegacyCalls::Math::kFma;
  bool batch_first = false;
  model::RecurrentShape shape;
  std::size_t x = 0;
  std::size_t y = 0;              ///< [time, batch, directions, hidden], or batch first
  std::optional<std::size_t> h0;  ///< states: [directions, batch, hidden]
  std::optional<std::size_t> c0;  ///< absent: zeros
  std::optional<std::size_t> h;   ///< absent: not wanted
  std::optional<std::size_t> c;
  std::size_t lengths = 0;  ///< s32, one for each entry: all are full
  std::vector<ExecutionPlan::Scratch> made;
  std::vector<KernelLaunch> once;  ///< beside those that fill the space of weights
  std::vector<KernelLaunch> before;
  std::vector<KernelLaunch> behind;
};

/// Translates an `rnn`, `gru` or `lstm`. Throws Unsupported for what cuDNN does not compute:
/// peepholes, sigmoid alone, a reset before the product with the state, f64.
[[nodiscard]] RecurrentProblem recurrent_problem(const model::LayerSpec& spec);
/// Function that finds a direction's piece of the weights. Pieces are cuDNN's gates by the input,
/// then by the state.
using WeightPlaces =
    std::function<RecurrentProblem::WeightPlace(std::int64_t direction, std::int64_t piece)>;

/// Returns the copies of ONNX's weights and biases into the space, a buffer. ONNX's gates are in
/// another order than cuDNN's (LSTM: i, o, f, c against i, f, c, o; GRU: z, r, h against r, z, h).
[[nodiscard]] std::vector<KernelLaunch> weight_copies(const model::LayerSpec& spec,
                                                      const RecurrentProblem& problem,
                                                      const WeightPlaces& places,
                                                      std::size_t space);

/// Makes the plan of a recurrent layer. It has `bytes` of weights, which are filled when bound if
/// they are constant. `bind` gives the launch of cuDNN's call on the plan's buffers. The last
/// buffer is the space of weights.
[[nodiscard]] ExecutionPlan recurrent_plan(
    const model::LayerSpec& spec,
    const RecurrentProblem& problem,
    const WeightPlaces& places,
    std::size_t bytes,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel);

}  // namespace plumb::cuda
