// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/limits/batch_curve.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/report/json_document.hpp"

namespace plumb::analysis {

/// Returns what binds a model and each of its steps, the slowest step first.
[[nodiscard]] Json limits_json(const model::Graph& graph, const ModelLimits& limits);

/// Returns the curves of models that were executed at several batches, each with its knee.
[[nodiscard]] Json batches_json(std::span<const ModelBounds> models);

/// Returns how many graphs of each model were captured, what they hold and what they save.
[[nodiscard]] Json captured_graphs_json(std::span<const ModelBounds> models);

}  // namespace plumb::analysis
