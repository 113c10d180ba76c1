// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/whatif/what_if.hpp"

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

}  // namespace plumb::analysis
