// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/compare/rounds/round_evidence.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Drift of the machine, judged by the controls.
struct ControlDrift {
  std::vector<InvalidRound> invalid;
  std::vector<QualifiedControl> controls;  ///< over the valid rounds
  bool moved = false;                      ///< the machine drifted, or too many rounds are invalid
};

/// Judges the rounds and the machine by the controls. A round is invalid if the product differs
/// between its two processes by more than `limit`, or the copy by more than twice that. It is also
/// invalid if a worker died before its controls were measured or the user stopped it. The machine
/// drifted (`moved`) if a control differs by more than 2% at the 1% level over the valid rounds, or
/// if more than a third of six or more rounds are invalid. Pure.
[[nodiscard]] ControlDrift control_drift(std::span<const results::PairedRound> rounds,
                                         double limit);

}  // namespace plumb::analysis
