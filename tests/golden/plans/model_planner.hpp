// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::golden {

/// Plan of a model as text.
struct PlanText {
  std::string figures;  ///< counts and bytes in one line, or why there is no plan
  std::string text;     ///< all of it: buffers, steps, outputs and variants, one a line
};

/// Planner of one backend, with what it needs to plan without measuring.
class ModelPlanner {
 public:
  virtual ~ModelPlanner() = default;

  /// Returns what plans depend on beside the code, such as a library's version and caches. Where it
  /// differs, nothing can be compared.
  [[nodiscard]] virtual std::string environment() const = 0;
  /// Lists the modes to plan.
  [[nodiscard]] virtual std::vector<std::string> modes() const = 0;
  /// Returns the backend that says what can be fused, and which variants a layer has.
  [[nodiscard]] virtual const worker::Backend& backend() const = 0;
  /// Plans a model. With `side_by_side`, steps of branches may run side by side.
  [[nodiscard]] virtual PlanText plan(const model::Graph& graph,
                                      const worker::LayerVariants& variants,
                                      bool side_by_side) = 0;
};

/// Makes the planner of oneDNN, limited to AVX2 and one thread.
[[nodiscard]] std::unique_ptr<ModelPlanner> make_onednn_planner();
/// Makes the planner of CUDA over the test doubles of NVIDIA's libraries, which compile no kernels.
[[nodiscard]] std::unique_ptr<ModelPlanner> make_cuda_planner();

}  // namespace plumb::golden
