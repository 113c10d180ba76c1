// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyze/qualification.hpp"

namespace plumb {

/// Applies a qualification's criteria and waivers to what it has found: fills in `results`, which
/// waivers applied, `verdict` and `reason`. Everything else must be filled in already, but for
/// `findings`; `moved` says that the machine was not the same for both sides.
///
/// A limit on a slow-down fails where a confirmed regression exceeds it, is met where the 95%
/// interval stays below, and is open otherwise. Rejected: a criterion failed. Not enough evidence:
/// none failed, and one is open, the machine moved or the qualification was stopped. Approved with
/// exceptions: what failed is waived. Pure.
void judge_criteria(Qualification& qualification, bool moved);

}  // namespace plumb
