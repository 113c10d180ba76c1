// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/compare/comparison_result.hpp"

namespace plumb::analysis {

/// Compares two runs that were each measured once.
///
/// - A layer is its key's hot time as the library chose it. If both runs timed it in at least
///   kMinProcesses, these give its error (test_processes()). Otherwise the error has those of both
///   medians, and the deviation between processes once for each side (test_times()).
/// - Broken: timed before, and now refused, crashed, wrong or fallen back to a reference
///   implementation.
/// - Where a library does not choose its fastest variant, the fastest ones are compared too (kind
///   "capability").
/// - A layer is inconclusive if its block was disturbed or only one run measured it. So it is if a
///   side has one sample, unless kMinProcesses show the noise. Its interval is then unknown.
/// - A layer that failed alike in both runs is not compared (failed_alike()). Another failure than
///   before is a change (judge_failures()).
/// - The minimum effect is run_floor() where processes give the error, else layer_floor(). For
///   models see compare_models().
/// - All p-values of times are one family, corrected by weighted Benjamini-Hochberg.
/// - Outputs are compared too, and so are costs of layers other than time (untimed_metrics.hpp).
/// - Causes of a layer: another implementation, another workspace, and whether the fastest variant
///   changed too (capability) or only the choice (heuristic).
///
/// An end-to-end change is split over the layers as they were executed inside the model
/// (attribute_model()). The causes of a changed model are these terms and the unexplained rest.
/// Layers that got worse by one cause are one finding. Pure.
[[nodiscard]] RunComparison compare_runs(const RunSide& baseline,
                                         const RunSide& candidate,
                                         const CalibratedFloors& floors,
                                         const ComparisonLimits& limits);

/// Makes all metrics of time inconclusive for a reason that concerns both runs as wholes. What is
/// broken stays so, and so do sizes and outputs.
void withhold_times(const std::string& reason, RunComparison& comparison);

}  // namespace plumb::analysis
