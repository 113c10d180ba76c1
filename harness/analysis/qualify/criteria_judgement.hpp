// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/qualify/qualification.hpp"

namespace plumb {

/// Applies a qualification's criteria and waivers. Fills in `results`, which waivers applied,
/// `verdict` and `reason`. All other fields except `findings` must be filled in already. `moved`:
/// the machine was not the same for both sides.
///
/// A limit on a slow-down fails where a confirmed regression exceeds it. It is met where the 95%
/// interval stays below, and open otherwise.
///
/// The first verdict that applies counts:
/// - not enough evidence: nothing was measured, or the machine moved;
/// - rejected: a criterion failed;
/// - not enough evidence: the qualification was stopped, or a criterion is open;
/// - approved with exceptions: what failed is waived;
/// - approved.
///
/// Pure.
void judge_criteria(Qualification& qualification, bool moved);

}  // namespace plumb
