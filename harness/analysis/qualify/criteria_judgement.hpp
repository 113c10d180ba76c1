// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

/// Applies a qualification's criteria and waivers. Fills in `results`, which waivers applied,
/// `verdict` and `reason`. All other fields except `findings` must be filled in already.
///
/// A limit on a slow-down fails where a confirmed regression exceeds it. It is met where the 95%
/// interval stays below, and open otherwise. Criteria on times of models and layers are open where
/// the A/A control failed.
///
/// The first verdict that applies counts:
/// - not enough evidence: a stack changed, nothing was measured, or the machine moved;
/// - rejected: a criterion failed;
/// - not enough evidence: the qualification was stopped, or a criterion is open;
/// - approved with exceptions: what failed is waived;
/// - approved.
///
/// Pure.
void judge_criteria(Qualification& qualification);

/// Judges the evidence of a qualification again, by other criteria and waivers. Notes say so, and
/// what the verdict was. The limit on controls stays that of the measurement, which chose its
/// rounds by it. The A/A control is computed again. Pure.
void judge_again(Qualification& qualification, QualificationCriteria criteria);

}  // namespace plumb::analysis
