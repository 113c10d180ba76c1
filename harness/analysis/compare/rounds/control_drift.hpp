// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
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

/// Largest difference of the product between machines, or moments of one, that count as equally
/// fast. Copies may differ by twice that.
inline constexpr double kControlLimit = 0.10;

/// Describes the first control that differs by more than `limit`, or the copy by more than twice
/// that: "the control 'product' took 0.001 s and 0.0013 s, +30.0%". Absent: none does. Pure.
[[nodiscard]] std::optional<std::string> find_control_difference(const results::Controls& before,
                                                                 const results::Controls& after,
                                                                 double limit);

/// Judges the rounds and the machine by the controls. A round is invalid if the product differs
/// between its two processes by more than `limit`, or the copy by more than twice that. It is also
/// invalid if a worker died before its controls were measured or the user stopped it. The machine
/// drifted (`moved`) if a control differs by more than 2% at the 1% level over the valid rounds, or
/// if more than a third of six or more rounds are invalid. Pure.
[[nodiscard]] ControlDrift control_drift(std::span<const results::PairedRound> rounds,
                                         double limit);

}  // namespace plumb::analysis
