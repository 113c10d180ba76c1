// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Adds the realised saving to each what-if. The run must have executed the model end to end both
/// in the what-if's mode and in its baseline's, which is mostly plain.
///
/// Where both plans could be priced from their layers (`predicted` of that mode), these prices
/// replace the sums of hot times. Prediction and execution then are of the same plan. The error of
/// a prediction is |predicted − realised saving| ÷ the baseline's latency.
///
/// Branches side by side are not judged where two threads do less than kMinParallelEfficiency of
/// twice the work of one. Pure.
void add_realised_savings(const ModelBounds& model,
                          const ResultSet& results,
                          ModelWhatIfs& whatifs);

/// Lists what each what-if saves inside the executed plans, where it was predicted from them. Steps
/// of both plans that cover the same layers are compared, so the savings add up to the predicted
/// one. The list is empty where the steps have no prices of their own. Pure.
void add_plan_savings(std::span<const results::Execution> executions,
                      const model::Graph& graph,
                      const ResultSet& results,
                      ModelWhatIfs& whatifs);

}  // namespace plumb::analysis
