// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/qualification.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb {

/// Drift of the machine, judged by the controls.
struct MachineDrift {
  std::vector<InvalidRound> invalid;
  std::vector<QualifiedControl> controls;  ///< over the valid rounds
  bool moved = false;  ///< the machine was another for one side, or too many rounds are invalid
};

/// Looks at the controls of each round. A round is invalid if the product differs between its two
/// processes by more than `limit`, the copy by more than twice that, a worker died before its
/// controls, or the user stopped it. The machine moved if over the valid rounds a control differs
/// by more than 2% at the 1% level, or if more than a third of six rounds or more are invalid.
/// Pure.
[[nodiscard]] MachineDrift machine_drift(std::span<const PairedRound> rounds, double limit);

}  // namespace plumb
