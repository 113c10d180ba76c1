// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Estimates the time of an executed plan from its parts: kind `predicted`, in the execution's
/// mode. The parts are the steps timed in context, if the execution has them.
///
/// Otherwise they are the rows of the layers alone, in the cache mode `weights`, and the reorders
/// between them. A layer's row is that of the variant that the plan uses, or its race where nothing
/// better was measured. Where that variant has no row, it is the key's fastest.
///
/// Absent: the execution does not list its layers, or the run has no such rows.
[[nodiscard]] std::optional<Bound> estimate_of_plan(const results::Execution& execution,
                                                    const ResultSet& results);

/// Step of an executed plan with its price.
struct PricedStep {
  std::vector<model::LayerId> layers;  ///< of the model's graph; none: reorders of the outputs
  model::LayerKey key;
  std::string variant;
  Seconds seconds{};  ///< reorders of its operands included
};

/// Returns the steps that estimate_of_plan() adds up. Empty: a step has no price of its own, or the
/// estimate is no sum (parallel branches).
[[nodiscard]] std::vector<PricedStep> priced_steps(const results::Execution& execution,
                                                   const ResultSet& results);

/// Lists the layers of an execution that have a row of their own in this run. The largest
/// difference between inside and alone comes first; at most `most` are listed.
[[nodiscard]] std::vector<LayerInModel> largest_differences(const results::Execution& execution,
                                                            const model::Graph& graph,
                                                            const ResultSet& results,
                                                            std::size_t most);

}  // namespace plumb::analysis
